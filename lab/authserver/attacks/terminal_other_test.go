//go:build !linux

package attacks

import (
	"errors"
	"io"
	"os/exec"
)

// atTerminal is for Linux only.
func (p *person) atTerminal(*exec.Cmd, io.Writer) error {
	p.world.Skip("requires a terminal of Linux")
	return errors.ErrUnsupported
}
