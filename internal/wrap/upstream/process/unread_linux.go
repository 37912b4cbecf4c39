package process

import "golang.org/x/sys/unix"

// unread counts the bytes that the server never read. proven is false while a different process
// holds the read end and might read them.
func (p *stdinPipe) unread() (n int64, proven bool) {
	p.raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // also called FIONREAD
		if err != nil {
			return
		}
		wait := 0
		if left > 0 { // killed processes may not be gone yet
			wait = int(closePipeGrace.Milliseconds())
		}
		poll := []unix.PollFd{{Fd: int32(fd)}} // POLLERR is always reported
		if _, err := unix.Poll(poll, wait); err != nil || poll[0].Revents&unix.POLLERR == 0 {
			return
		}
		// No process has the read end any more, so the number is final.
		if left, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n, proven = int64(left), true
		}
	})
	return n, proven
}

// untouched reports whether bytes are in the pipe that the server has not read.
func (p *stdinPipe) untouched() (some bool) {
	p.raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		some = err == nil && left > 0
	})
	return some
}
