//go:build unix

package process

import (
	"os"
	"syscall"
	"time"
)

// stdinPipe is gauze's end of a server's stdin. A write reports exactly how many bytes the system
// accepted, even if it fails.
type stdinPipe struct {
	*os.File
	raw syscall.RawConn
	try attempt
}

// attempt is a write that does not wait. It is kept with its function: a new one for each write would be two
// allocations for each call.
type attempt struct {
	write func(fd uintptr) bool
	b     []byte
	n     int
	err   error
}

// newStdinPipe opens a pipe and returns both ends.
func newStdinPipe() (server *os.File, ours *stdinPipe, err error) {
	server, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	raw, err := write.SyscallConn()
	if err != nil {
		server.Close()
		write.Close()
		return nil, nil, err
	}
	p := &stdinPipe{File: write, raw: raw}
	p.try.write = p.try.do
	return server, p, nil
}

// newOutputPipe opens a pipe for a server's stdout or stderr.
func newOutputPipe() (ours, server *os.File, err error) { return os.Pipe() }

// tryWrite writes what the pipe accepts without waiting. For most messages this saves a switch to
// another goroutine. Calls do not overlap.
func (p *stdinPipe) tryWrite(b []byte) (n int, err error) {
	p.try.b, p.try.n, p.try.err = b, 0, nil
	doErr := p.raw.Write(p.try.write)
	p.try.b = nil
	if doErr != nil {
		return 0, doErr
	}
	if p.try.err == syscall.EAGAIN {
		return 0, nil
	}
	return max(p.try.n, 0), p.try.err
}

func (a *attempt) do(fd uintptr) bool {
	for {
		if a.n, a.err = syscall.Write(int(fd), a.b); a.err != syscall.EINTR {
			return true
		}
	}
}

// stop ends every write at deadline.
func (p *stdinPipe) stop(deadline time.Time) {
	if p.SetWriteDeadline(deadline) != nil {
		p.Close() // which ends them immediately
	}
}

// tryRead reads what is in the pipe, past any deadline and without waiting.
func tryRead(f *os.File, b []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		for {
			if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
				return
			}
		}
	})
	return max(n, 0)
}
