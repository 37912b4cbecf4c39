package upstream

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// partingGrace is what processes that were killed get to let go of the pipe: a
// large one on a busy machine takes its time.
const partingGrace = 500 * time.Millisecond

// unread counts the bytes nobody will ever read from the pipe whose write end
// is f. proven is false while anyone still holds the read end: a grandchild
// might yet read them.
func unread(f *os.File) (n int64, proven bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD by its other name
		if err != nil {
			return
		}
		wait := 0
		if left > 0 { // worth a moment: those who were killed may not be quite gone
			wait = int(partingGrace.Milliseconds())
		}
		poll := []unix.PollFd{{Fd: int32(fd)}} // POLLERR is told without being asked for
		if _, err := unix.Poll(poll, wait); err != nil || poll[0].Revents&unix.POLLERR == 0 {
			return
		}
		// Nobody is there any more, so now the number is final.
		if left, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n, proven = int64(left), true
		}
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
