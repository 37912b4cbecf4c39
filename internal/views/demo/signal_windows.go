package demo

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// ntSuspendProcess stops all threads of a process. Win32 has a function only for single threads;
// debuggers use this one.
var ntSuspendProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtSuspendProcess")

// hungAbout says how long gauze waits for a server that is suspended.
var hungAbout = fmt.Sprintf("Gauze cannot detect that on this system, so it waits until the call times out after %v.", callTimeout)

// freeze stops the server.
func (s *server) freeze(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	process, err := windows.OpenProcess(windows.PROCESS_SUSPEND_RESUME, false, uint32(s.pid))
	if err != nil {
		return fmt.Errorf("cannot suspend the server: %w", err)
	}
	defer windows.CloseHandle(process)
	if status, _, _ := ntSuspendProcess.Call(uintptr(process)); status != 0 {
		return fmt.Errorf("cannot suspend the server: %w", windows.NTStatus(status))
	}
	return nil
}

// signal kills the server, if it is running.
func (s *server) signal(syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return nil
	}
	process, err := os.FindProcess(s.pid)
	if err != nil {
		return nil // it has already exited
	}
	s.pid = 0
	if err := process.Kill(); err != nil {
		return fmt.Errorf("cannot kill the server: %w", err)
	}
	return nil
}
