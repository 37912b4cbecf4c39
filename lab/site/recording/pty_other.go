//go:build !linux

package main

import (
	"errors"
	"os"
)

func openTerminal() (control, terminal *os.File, err error) {
	return nil, nil, errors.New("recording needs Linux")
}
