//go:build unix

package web

import (
	"net"
	"syscall"
)

// knowsEnd is whether hasEnded can tell.
const knowsEnd = true

// hasEnded reports whether the other side has closed a connection, and all that it sent was read.
func hasEnded(conn net.Conn) (ended bool) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return ended
}
