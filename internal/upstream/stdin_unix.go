//go:build unix

package upstream

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
	return server, &stdinPipe{File: write, raw: raw}, nil
}

// newOutputPipe opens a pipe for a server's stdout or stderr.
func newOutputPipe() (ours, server *os.File, err error) { return os.Pipe() }

// tryWrite writes what the pipe accepts without waiting. For most messages this saves a switch to
// another goroutine.
func (p *stdinPipe) tryWrite(b []byte) (n int, err error) {
	doErr := p.raw.Write(func(fd uintptr) bool {
		for {
			n, err = syscall.Write(int(fd), b)
			if err != syscall.EINTR {
				return true
			}
		}
	})
	if doErr != nil {
		return 0, doErr
	}
	if err == syscall.EAGAIN {
		return 0, nil
	}
	return max(n, 0), err
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
