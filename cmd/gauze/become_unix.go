//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// become replaces this process with a different program.
func become(path string, args []string) error {
	err := syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return fmt.Errorf("cannot start %s: %w", path, err)
}
