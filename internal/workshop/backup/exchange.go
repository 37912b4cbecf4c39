package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/robustio"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// No system can compare a file and replace it in one step. So the new file is exchanged with the old
// one, and what came out is compared: if it is not what was read, another program saved the file
// after the last check, and its save is put back.
//
// The new file has a name of its own for this, so that after a crash it is known what is under which
// name: the temporary name has what was being written, and only this one what came out.

// temp returns the name under which the new file is written.
func (r record) temp() string { return filepath.Join(filepath.Dir(r.Target), r.Temp) }

// beside returns the name under which the file is exchanged.
func (r record) beside() string {
	return filepath.Join(filepath.Dir(r.Target), strings.TrimSuffix(r.Temp, ".tmp")+".swap")
}

// swap exchanges the file with the one at beside, unless it is no longer what was read.
func (s Store) swap(file place, beside string, c Change, info fs.FileInfo) error {
	err := exchange(beside, file.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		os.Remove(beside)
		_, err = file.checkContent(c.Old)
		return err
	case err != nil: // not on this file system: the check just before must suffice
		if err := robustio.Rename(beside, file.real); err != nil {
			os.Remove(beside)
			return cannotReplace(file, err)
		}
		return nil
	}
	s.reach(stepSwapped)
	if err := (place{file.path, beside}).checkOut(c.Old, info); err != nil {
		return errors.Join(err, putBack(file, beside, hashOf(c.New)))
	}
	os.Remove(beside)
	return nil
}

// takeAway removes the file, unless it is no longer what was read.
func (s Store) takeAway(file place, beside string, c Change, info fs.FileInfo) error {
	if err := robustio.Rename(file.real, beside); err != nil {
		return cannotReplace(file, err)
	}
	s.reach(stepSwapped)
	if err := (place{file.path, beside}).checkOut(c.Old, info); err != nil {
		return errors.Join(err, putBack(file, beside, ""))
	}
	os.Remove(beside)
	return nil
}

// checkOut returns an error unless the file that came out is the one that was read.
func (p place) checkOut(old []byte, seen fs.FileInfo) error {
	info, err := p.checkContent(old)
	if err == nil && (!os.SameFile(seen, info) || info.Mode() != seen.Mode()) {
		err = &Refusal{Path: p.path, Err: ErrConflict, Why: "another program has replaced this file since it was read; nothing was written",
			Next: "run the command again to use the current content"}
	}
	return err
}

// putBack moves the file at beside, which another program saved, back to its own name, and removes
// what gauze had put there, whose Hash it expects to get out, or "" if gauze had removed the file.
// Anything else was saved even later, and takes precedence.
func putBack(file place, beside, expected string) error {
	for {
		placed, there := hashAt(beside), hashAt(file.real)
		var err error
		switch {
		case placed == "":
			return nil
		case there == "":
			err = files.MoveNew(beside, file.real)
		case expected == "": // saved again after gauze had removed the file
			return os.Remove(beside)
		default:
			err = exchange(beside, file.real)
			if err == nil && hashAt(beside) == expected {
				return os.Remove(beside)
			}
			expected = placed
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return &Refusal{Path: file.path, Why: "the other program's version could not be restored: " + files.Reason(err), Next: "it is in " + beside, Err: err}
		}
	}
}

// hashAt returns the Hash of a file, "" if there is none, and "?" if it is not a file that can be
// read.
func hashAt(path string) string {
	content, _, err := place{path, path}.read()
	if err != nil {
		return "?"
	}
	return hashOf(content)
}

// recover puts back what a process that died had exchanged and not compared yet, if another program
// had saved it. It reports whether it did.
func (r record) recover() (back bool, err error) {
	switch out := hashAt(r.beside()); out {
	case "", r.Old, r.New:
		return false, nil
	}
	return true, putBack(place{r.Path, r.Target}, r.beside(), r.New)
}
