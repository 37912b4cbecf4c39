package attach

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detached gives a process no console, a group of its own, and no job of the client's: a client may end
// all processes in its job.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_BREAKAWAY_FROM_JOB}
}

// startDetached starts a process in the client's job if that does not allow others.
func startDetached(cmd *exec.Cmd) error {
	err := cmd.Start()
	if !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return err
	}
	inside := exec.Command(cmd.Path, cmd.Args[1:]...)
	inside.Dir, inside.Env, inside.Stdout, inside.Stderr, inside.SysProcAttr = cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, detached()
	inside.SysProcAttr.CreationFlags &^= windows.CREATE_BREAKAWAY_FROM_JOB
	err = inside.Start()
	cmd.Process = inside.Process
	return err
}

// keepFiles does nothing: on Windows a process gets only what it is given.
func keepFiles() {}
