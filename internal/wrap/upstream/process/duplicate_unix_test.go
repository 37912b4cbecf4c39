//go:build unix

package process

import (
	"os"
	"syscall"
	"testing"
)

// duplicate returns a second handle on an open file.
func duplicate(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}
