package faultyserver

import (
	"os"
	"syscall"
	"unsafe"
)

// signals maps signals to the exit codes that Windows reports in their place: it has no signals,
// and a crash is an NTSTATUS. STOP does not end the process.
var signals = map[string]uint32{
	"KILL": 1,          // as taskkill /F and Process.Kill
	"TERM": 1,          // cannot be caught on Windows
	"INT":  0xC000013A, // STATUS_CONTROL_C_EXIT
	"HUP":  0xC000013A, // the console was closed
	"SEGV": 0xC0000005, // STATUS_ACCESS_VIOLATION
	"ABRT": 0xC0000409, // STATUS_STACK_BUFFER_OVERRUN, the code of __fastfail
	"BUS":  0xC0000006, // STATUS_IN_PAGE_ERROR
	"STOP": 0,
}

// raise ends this process without running any of its own code, or suspends it.
func raise(name string) {
	if name == "STOP" {
		_ = Suspend(os.Getpid())
		return
	}
	self, _ := syscall.GetCurrentProcess()
	_ = syscall.TerminateProcess(self, signals[name])
}

func ignoreTerm() {}

// newSession does the closest to leaving a process group. A job object still contains the child.
func newSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx   = kernel32.NewProc("LockFileEx")
	unlockFileEx = kernel32.NewProc("UnlockFileEx")
)

// lockFile locks one byte far beyond the end, because a lock on Windows prevents others from
// reading.
func lockFile(f *os.File) (unlock func()) {
	const exclusive = 2 // LOCKFILE_EXCLUSIVE_LOCK
	at := syscall.Overlapped{OffsetHigh: 1 << 30}
	ok, _, _ := lockFileEx.Call(f.Fd(), exclusive, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if ok == 0 {
		return func() {}
	}
	return func() {
		at := syscall.Overlapped{OffsetHigh: 1 << 30}
		_, _, _ = unlockFileEx.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	}
}
