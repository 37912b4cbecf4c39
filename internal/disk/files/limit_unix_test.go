//go:build unix

package files

import (
	"os"
	"syscall"
	"testing"
)

func TestAFewFilesAreKeptForTheServer(t *testing.T) {
	if err := CheckLimit(); err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	low := limit
	low.Cur = reserve + 3 // 0, 1 and 2 are in use, and f
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	if err := CheckLimit(); err != errFew {
		t.Errorf("%v", err)
	}
}
