//go:build linux || darwin

package sockets

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer returns an error if the other end of a socket in the file system belongs to a different
// user. The system does not say whose the other end of a loopback connection is: its token has to
// suffice.
func CheckPeer(conn net.Conn) error {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var failed error
	if err := raw.Control(func(fd uintptr) { uid, failed = peer(int(fd)) }); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the other end belongs to the user with ID %d", uid)
	}
	return nil
}
