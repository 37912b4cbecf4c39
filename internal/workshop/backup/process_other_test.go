//go:build !linux

package backup

import (
	"errors"
	"os/exec"
)

func limitFiles() error { return errors.New("only on Linux") }

func (t task) become() error { return nil }

func apart(*exec.Cmd, task) {}
