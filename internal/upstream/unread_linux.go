package upstream

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread counts the bytes nobody will ever read from the pipe whose write end
// is f. proven is false while anyone still holds the read end: a grandchild
// might yet read them.
func unread(f *os.File) (n int64, proven bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(poll, 0); err != nil || poll[0].Revents&unix.POLLERR == 0 {
			return
		}
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD by its other name
		if err != nil {
			return
		}
		n, proven = int64(left), true
	})
	return n, proven
}

// untouched reports whether bytes lie in the pipe that nobody has read yet.
func untouched(f *os.File) (some bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		some = err == nil && left > 0
	})
	return some
}
