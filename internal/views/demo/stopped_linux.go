package demo

import "golang.org/x/sys/unix"

// stopped reports whether a child of this process has stopped. It asks the kernel, because a container may have neither
// /proc nor ps, and leaves what it learns to the goroutine that waits for the child.
func stopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0 // an error: it has exited
}
