//go:build !linux

package upstream

import "os/exec"

// startTied starts a command. Only Linux can tie it to our own end.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }
