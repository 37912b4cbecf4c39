//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// reserve is how many files stay free: a restart opens about ten at the same time, and the journal as
// many.
const reserve = 32

// errFew means that few files are left.
var errFew = errors.New("the limit on open files is low, and the remaining file descriptors are reserved for the server")

// CheckLimit returns an error unless this process may open many more files. It protects what a wrap
// needs from what it can do without: the journal and the announcement open files only while enough
// are left to restart the server.
func CheckLimit() error {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer f.Close()
	lowest := uint64(f.Fd()) // the system gives out the lowest number that is free
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil // nothing is known
	}
	if lowest+reserve > uint64(limit.Cur) {
		return errFew
	}
	return nil
}
