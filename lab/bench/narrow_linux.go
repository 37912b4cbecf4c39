package main

import (
	"os"
	"syscall"
)

// narrow makes a pipe as small as Linux allows.
func narrow(pipe *os.File) {
	const setPipeSize = 1031 // F_SETPIPE_SZ, which package syscall does not name
	if raw, err := pipe.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeToClient) })
	}
}
