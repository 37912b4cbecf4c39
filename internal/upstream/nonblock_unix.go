//go:build unix

package upstream

import (
	"os"
	"syscall"
)

// tryWrite writes what the pipe takes at once, without waiting. It spares the
// usual message a hand-over to another goroutine.
func tryWrite(f *os.File, raw syscall.RawConn, b []byte) (n int, err error) {
	doErr := raw.Write(func(fd uintptr) bool {
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

// tryRead reads what lies in the pipe, past any deadline and without waiting.
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
