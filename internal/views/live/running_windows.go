package live

import "syscall"

// isRunning reports whether a process with this number runs. It may be a different one. A process that
// has ended can still be opened while anything has a handle on it.
func isRunning(pid int) bool {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return err == syscall.ERROR_ACCESS_DENIED
	}
	defer syscall.CloseHandle(process)
	state, err := syscall.WaitForSingleObject(process, 0)
	return err == nil && state == syscall.WAIT_TIMEOUT
}
