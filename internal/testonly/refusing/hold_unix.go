//go:build unix

package refusing

import "syscall"

// hold binds a socket without listening: connections to it are refused, and no other process gets its port.
func hold() (port int, release func(), err error) {
	syscall.ForkLock.RLock() // no child inherits it
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, nil, err
	}
	release = func() { syscall.Close(socket) }
	err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		release()
		return 0, nil, err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		release()
		return 0, nil, err
	}
	return name.(*syscall.SockaddrInet4).Port, release, nil
}
