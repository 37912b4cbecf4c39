package process

import (
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// stdinPipe is gauze's end of a server's stdin.
//
// Windows does not tell the writer of a pipe what was never read, and a write that fails reports 0
// bytes although the server may have read some. So gauze holds a second handle on the server's read
// end. Once every process of the server is gone, it is the only handle left, and what gauze then
// reads from the pipe was not read by the server.
type stdinPipe struct {
	*os.File
	watch *time.Timer // runs while a write waits for room

	deadline atomic.Pointer[time.Time]
	writing  atomic.Bool

	mu     sync.Mutex
	theirs windows.Handle // the server's read end; 0 once closed
	taken  int64          // bytes that gauze read from it
}

// closedCheck is how often a write that waits for room checks whether the server closed its stdin.
// The system does not report it, because gauze holds a read end.
const closedCheck = 100 * time.Millisecond

// newStdinPipe opens a pipe and returns both ends.
func newStdinPipe() (server *os.File, ours *stdinPipe, err error) {
	// The access that CreatePipe grants a reader: libuv changes the mode of its handle.
	write, server, err := newPipe(windows.PIPE_ACCESS_OUTBOUND, windows.GENERIC_READ|windows.FILE_WRITE_ATTRIBUTES)
	if err != nil {
		return nil, nil, err
	}
	ours = &stdinPipe{File: write}
	ours.watch = time.AfterFunc(time.Hour, ours.checkClosed)
	ours.watch.Stop()
	self := windows.CurrentProcess()
	if err := windows.DuplicateHandle(self, windows.Handle(server.Fd()), self, &ours.theirs,
		windows.FILE_READ_DATA|windows.SYNCHRONIZE, false, 0); err != nil {
		server.Close()
		write.Close()
		return nil, nil, os.NewSyscallError("DuplicateHandle", err)
	}
	return server, ours, nil
}

// newOutputPipe opens a pipe for a server's stdout or stderr.
func newOutputPipe() (ours, server *os.File, err error) {
	return newPipe(windows.PIPE_ACCESS_INBOUND, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES)
}

// newPipe opens a pipe whose end on gauze's side is overlapped, so that deadlines work, and an
// ordinary synchronous handle on the server's side. An anonymous pipe cannot be overlapped, so this
// is a named one, for a single client, which is connected when newPipe returns. Neither end is
// inheritable: os/exec passes a duplicate to the process that it starts.
func newPipe(ourAccess, theirAccess uint32) (ours, theirs *os.File, err error) {
	path := fmt.Sprintf(`\\.\pipe\gauze-%d-%s`, os.Getpid(), rand.Text())
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, nil, err
	}
	handle, err := windows.CreateNamedPipe(name,
		ourAccess|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, pieceSize, pieceSize, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	ours = os.NewFile(uintptr(handle), path)
	client, err := windows.CreateFile(name, theirAccess, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		ours.Close()
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	theirs = os.NewFile(uintptr(client), path)
	if err := ours.SetDeadline(time.Time{}); err != nil {
		ours.Close()
		theirs.Close()
		return nil, nil, fmt.Errorf("the pipe does not support deadlines: %w", err)
	}
	return ours, theirs, nil
}

// tryWrite writes nothing: a write that does not fit would wait, and how much fits cannot be known.
// The outbox's goroutine writes.
func (p *stdinPipe) tryWrite([]byte) (int, error) { return 0, nil }

// Write writes b and returns how many bytes the server may have read: all of b if the write failed
// partway.
func (p *stdinPipe) Write(b []byte) (int, error) {
	switch deadline := p.deadline.Load(); {
	case deadline != nil && !time.Now().Before(*deadline):
		return 0, os.ErrDeadlineExceeded
	case p.alone():
		return 0, syscall.EPIPE
	}
	p.writing.Store(true)
	p.watch.Reset(closedCheck)
	_, err := p.File.Write(b)
	p.writing.Store(false)
	p.watch.Stop()
	if err == nil && p.tookSome() {
		err = syscall.EPIPE
	}
	return len(b), err
}

// checkClosed ends a write that waits for room if the server closed its stdin.
func (p *stdinPipe) checkClosed() {
	if p.alone() {
		p.empty()
	}
	if p.writing.Load() {
		p.watch.Reset(closedCheck)
	}
}

// stop ends every write at deadline. If that has passed and the server is gone, a write that waits
// for room is completed and not canceled, because it is unknown how much of a canceled one was
// read.
func (p *stdinPipe) stop(deadline time.Time) {
	p.deadline.Store(&deadline)
	if !time.Now().Before(deadline) && p.deserted() {
		p.empty()
	}
	if p.SetWriteDeadline(deadline) != nil {
		p.Close() // which ends them immediately
	}
}

// unread counts the bytes that the server never read. proven is false while a different process
// holds the read end and might read them.
func (p *stdinPipe) unread() (n int64, proven bool) {
	if !p.alone() {
		return 0, false
	}
	p.empty()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, true
}

// untouched is not known. The server's end of the pipe is synchronous: examining it would wait
// until a read of the server returns. Gauze's end only reports how much of its quota is in use,
// which includes reads that wait.
func (p *stdinPipe) untouched() bool { return false }

// deserted waits until no other process holds the read end and reports whether that is so.
func (p *stdinPipe) deserted() bool {
	for limit := time.Now().Add(closePipeGrace); !p.alone(); time.Sleep(time.Millisecond) {
		if p.closed() || time.Now().After(limit) {
			return false
		}
	}
	return true
}

// alone reports whether gauze has the only handle on the read end.
func (p *stdinPipe) alone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.theirs == 0 {
		return false
	}
	var info struct { // PUBLIC_OBJECT_BASIC_INFORMATION
		attributes, access, handles, pointers uint32
		_                                     [10]uint32
	}
	const objectBasicInformation = 0
	status, _, _ := ntQueryObject.Call(uintptr(p.theirs), objectBasicInformation,
		uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info), 0)
	return status == 0 && info.handles == 1
}

// empty reads everything that is in the pipe. It must only be called if alone returns true:
// otherwise it would wait for a read of the server.
func (p *stdinPipe) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var buf [4 << 10]byte
	for p.theirs != 0 {
		n := min(available(p.theirs), len(buf))
		if n == 0 {
			return // a read would wait, also one of no bytes
		}
		n, err := windows.Read(p.theirs, buf[:n])
		if err != nil {
			return
		}
		p.taken += int64(n)
	}
}

func (p *stdinPipe) tookSome() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken > 0
}

func (p *stdinPipe) closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.theirs == 0
}

// Close closes our end, so that the server reads the end of its stdin.
func (p *stdinPipe) Close() error {
	p.mu.Lock()
	if p.theirs != 0 {
		windows.CloseHandle(p.theirs)
		p.theirs = 0
	}
	p.mu.Unlock()
	return p.File.Close()
}

// tryRead reads what is in the pipe, past any deadline and without waiting.
func tryRead(f *os.File, b []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(handle uintptr) { n = min(available(windows.Handle(handle)), len(b)) })
	if n == 0 || f.SetReadDeadline(time.Time{}) != nil {
		return 0
	}
	n, _ = f.Read(b[:n])
	if f.SetReadDeadline(time.Unix(1, 0)) != nil {
		f.Close() // no later read may wait
	}
	return n
}

// available returns how many bytes a read from a pipe would return now.
func available(pipe windows.Handle) int {
	var n uint32
	if ok, _, _ := peekNamedPipe.Call(uintptr(pipe), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0); ok == 0 {
		return 0
	}
	return int(n)
}

var (
	ntdll    = windows.NewLazySystemDLL("ntdll.dll")
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")

	ntQueryObject             = ntdll.NewProc("NtQueryObject")
	ntResumeProcess           = ntdll.NewProc("NtResumeProcess")
	peekNamedPipe             = kernel32.NewProc("PeekNamedPipe")
	queryInformationJobObject = kernel32.NewProc("QueryInformationJobObject")
)
