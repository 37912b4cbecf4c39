package doctor

import (
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/windows"
)

// detach does nothing: taskkill finds what a command has started.
func detach(*exec.Cmd) {}

// end kills a command together with everything it started: a version manager's shim starts the real
// program, and no program without a window can be asked to end.
func end(cmd *exec.Cmd) {
	system, err := windows.GetSystemDirectory()
	if err == nil {
		err = exec.Command(filepath.Join(system, "taskkill.exe"), "/t", "/f", "/pid", strconv.Itoa(cmd.Process.Pid)).Run()
	}
	if err != nil {
		cmd.Process.Kill()
	}
}
