package doctor

import (
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/windows"
)

// killTreeOnCancel kills a command at the deadline together with everything it started: a version
// manager's shim starts the real program.
func killTreeOnCancel(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		system, err := windows.GetSystemDirectory()
		if err == nil {
			err = exec.Command(filepath.Join(system, "taskkill.exe"), "/t", "/f", "/pid", strconv.Itoa(cmd.Process.Pid)).Run()
		}
		if err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
}
