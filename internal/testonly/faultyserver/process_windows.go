package faultyserver

import (
	"fmt"
	"syscall"
)

var (
	ntdll            = syscall.NewLazyDLL("ntdll.dll")
	ntSuspendProcess = ntdll.NewProc("NtSuspendProcess")
	ntResumeProcess  = ntdll.NewProc("NtResumeProcess")
)

// Suspend suspends all threads of a process, as SIGSTOP does.
func Suspend(pid int) error { return control(ntSuspendProcess, pid) }

// Resume continues a suspended process.
func Resume(pid int) error { return control(ntResumeProcess, pid) }

func control(call *syscall.LazyProc, pid int) error {
	const suspendResume = 0x0800 // PROCESS_SUSPEND_RESUME
	process, err := syscall.OpenProcess(suspendResume, false, uint32(pid))
	if err != nil {
		return err
	}
	defer syscall.CloseHandle(process)
	if status, _, _ := call.Call(uintptr(process)); int32(status) < 0 {
		return fmt.Errorf("%s: NTSTATUS %#x", call.Name, uint32(status))
	}
	return nil
}

// Running reports whether a process exists and has not ended.
func Running(pid int) bool {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(process)
	event, err := syscall.WaitForSingleObject(process, 0)
	return err == nil && event == syscall.WAIT_TIMEOUT
}
