// Package files has what the standard library lacks for files that several processes use: writing
// them as a whole, locks, the identity of a file, and how many may still be open.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/robustio"
)

// Unfinished begins the names of files that are being written. A process that is killed leaves its
// own behind.
const Unfinished = ".new-"

// Replace writes a file with mode 0600 as a whole: anyone who opens it, also after a crash, finds the
// old content or the new. It does not follow a symbolic link at path.
func Replace(path string, content []byte) error {
	return write(path, content, true, robustio.Rename)
}

// Swap is Replace for what may be lost if the system crashes: it does not wait for the disk, which can
// take seconds.
func Swap(path string, content []byte) error {
	return write(path, content, false, robustio.Rename)
}

// ReplaceProgram is Replace with mode 0755.
func ReplaceProgram(path string, content []byte) error {
	return write(path, content, true, func(from, to string) error {
		if err := os.Chmod(from, 0o755); err != nil {
			return err
		}
		return robustio.Rename(from, to)
	})
}

// Create writes a new file with mode 0600 as a whole. If there is one already, also one that another
// process created at the same time, it stays, and the error wraps fs.ErrExist.
func Create(path string, content []byte) error {
	return write(path, content, true, MoveNew)
}

func write(path string, content []byte, durable bool, move func(from, to string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), unfinished(path)) // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err == nil && durable {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = move(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return err
	}
	if durable {
		SyncDir(filepath.Dir(path))
	}
	return nil
}

// unfinished is the pattern of the names under which path is written.
func unfinished(path string) string {
	const maxLen = 100 // a name of the greatest length leaves no room for more
	name := filepath.Base(path)
	return Unfinished + name[:min(len(name), maxLen)] + "-*"
}

// RemoveUnfinished removes what killed processes left of a file. The caller must be the only one that
// writes it.
func RemoveUnfinished(path string) {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), unfinished(path)))
	for _, file := range left {
		os.Remove(file)
	}
}

// MoveNew renames a file to a name that is not in use. A link, unlike a rename, never replaces a file
// that appeared in the meantime. Without hard links, a check just before must suffice.
func MoveNew(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		robustio.RemoveAll(from) // on Windows, this fails as long as another process reads the file by its new name
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return robustio.Rename(from, to)
}

// Reason returns the innermost message of an error, without the path.
func Reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

// SyncDir makes a rename durable. Systems where this fails do not need it.
func SyncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		f.Sync()
		f.Close()
	}
}
