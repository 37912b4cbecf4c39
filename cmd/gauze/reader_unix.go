//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether the other end of a pipe, socket or terminal is closed.
func readerGone(f *os.File) (gone bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		_, err := unix.Poll(poll, 0)
		gone = err == nil && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}
