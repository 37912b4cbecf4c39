//go:build !linux

package process

import (
	"os/exec"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// Halted reports whether the server is stopped.
func (p *Pipes) Halted() bool { return p.proc.vitals().Stopped }

// survey returns nothing: it is implemented only for Linux.
func (g *group) survey([]string) life.Survey { return life.Survey{} }

// startTied starts a command. Only Linux can tie it to the end of gauze.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }

// allowedOf returns nothing: it is implemented only for Linux.
func allowedOf(int) life.Allowed { return life.Allowed{} }

// gone returns false: it is implemented only for Linux.
func (g *group) gone() bool { return false }

// untilExit returns immediately: the wait for the process follows.
func untilExit(int) {}
