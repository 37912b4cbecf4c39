//go:build unix

package faultyserver

import (
	"os"
	"os/signal"
	"syscall"
)

var signals = map[string]syscall.Signal{
	"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP,
	"SEGV": syscall.SIGSEGV, "ABRT": syscall.SIGABRT, "BUS": syscall.SIGBUS, "PIPE": syscall.SIGPIPE, "STOP": syscall.SIGSTOP,
}

// raise sends the signal to this process with its default effect, so that the parent sees a death
// by that signal and not the exit code 2 that the Go runtime produces for SIGSEGV.
func raise(name string) {
	sig := signals[name]
	defaultEffect(sig)
	_ = syscall.Kill(os.Getpid(), sig)
}

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

// newSession makes a grandchild leave its process group.
func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func lockFile(f *os.File) (unlock func()) {
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX) != nil {
		return func() {}
	}
	return func() { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
}
