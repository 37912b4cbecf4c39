//go:build unix && !linux

package demo

import (
	"os/exec"
	"strconv"
	"strings"
)

// stopped reports whether a process has stopped.
func stopped(pid int) bool {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "T") // an error: it has exited, or ps is missing
}
