package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// CheckProgram returns an error if a user other than this one and root owns or can write to a file that
// gauze starts, or its directory. What does not exist is accepted. On Windows it accepts everything, as
// StateDir does.
func CheckProgram(file, dir string) error {
	for _, path := range []string{dir, file} {
		for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // who made the link chose the file
			info, err := look(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil && !ownAlone(path, info) {
				err = errors.New("it belongs to another user, or other users can write to it")
			}
			if err != nil {
				return fmt.Errorf("gauze does not use the copy of gauze at %s, because %s cannot be trusted: %w\nnext: check who wrote it, delete %[2]s, and try again", file, path, err)
			}
		}
	}
	return nil
}
