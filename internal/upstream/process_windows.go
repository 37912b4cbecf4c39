package upstream

import (
	"os/exec"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a Job Object: it ends with its last handle, so the server and all
// it started end with us even if we are killed.
type group struct{ job windows.Handle }

func (g *group) prepare(cmd *exec.Cmd) {
	// A new group keeps a Ctrl-C at our console from reaching the server
	// before we had the chance to stop it in order.
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func (g *group) adopt(cmd *exec.Cmd) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		windows.CloseHandle(job)
		return
	}
	g.job = job
}

// terminate: Windows has no SIGTERM for a process without a console; the
// server had its chance when its stdin was closed.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
		windows.CloseHandle(g.job)
		g.job = 0
	}
}

// resolve finds the program. npx, uvx and others are batch files on Windows
// (npx.cmd), which CreateProcess does not run by itself: the command
// interpreter runs them.
func resolve(spec Spec) (path string, args []string, err error) {
	path, err = exec.LookPath(spec.Command)
	if err != nil {
		return "", nil, err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cmd", ".bat":
		interpreter, err := exec.LookPath("cmd.exe")
		if err != nil {
			return "", nil, err
		}
		return interpreter, append([]string{"/d", "/c", path}, spec.Args...), nil
	}
	return path, spec.Args, nil
}
