package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/rogpeppe/go-internal/robustio"
)

// tempPrefix begins the names of the files we put beside those of others.
const tempPrefix = ".gauze-"

// replace puts the new content in the file's place, as a whole: it is written beside it and renamed. There is no other
// way: writing into the file itself would leave half of it after a crash, so where a rename cannot be had (a file that
// is mounted on its own, a folder that may not be written) the change is refused.
func (s Store) replace(file place, info fs.FileInfo, c Change, kept record) error {
	if c.New == nil {
		if err := file.mustStill(c.Old, info); err != nil {
			return err
		}
		s.reach(stepReady)
		if err := os.Remove(file.real); err != nil {
			return irreplaceable(file, err)
		}
		syncDir(filepath.Dir(file.real))
		return nil
	}

	dir := filepath.Dir(file.real)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &Refusal{Path: file.path, Why: "its folder cannot be made: " + reason(err), Next: "make the folder " + dir + " yourself", Err: err}
	}
	temp := filepath.Join(dir, kept.Temp)
	if err := s.prepare(temp, info, kept.Mode, file, c.New); err != nil {
		os.Remove(temp)
		return err
	}
	s.reach(stepReady)
	err := file.mustStill(c.Old, info)
	if err == nil {
		err = put(temp, file, info == nil)
	}
	if err != nil {
		os.Remove(temp)
		return err
	}
	syncDir(dir)
	return nil
}

// prepare writes the file that is to take the other's place, and makes it like the other before it does.
func (s Store) prepare(temp string, info fs.FileInfo, mode fs.FileMode, file place, content []byte) error {
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &Refusal{
			Path: file.path,
			Why:  "nothing can be written to its folder (" + reason(err) + "), and only a file beside it can replace it safely",
			Next: "see to the permissions of " + filepath.Dir(file.real) + ", or change the file by hand",
			Err:  err,
		}
	}
	defer f.Close()
	s.reach(stepTemp)
	unwritten := func(err error) error {
		return &Refusal{Path: file.path, Why: "the new content could not be written (" + reason(err) + "); the file is as it was",
			Next: "make room on the disk and repeat the command", Err: err}
	}
	if _, err := f.Write(content); err != nil {
		return unwritten(err)
	}
	s.reach(stepHalf)
	if info != nil {
		if err := resemble(f, file.real, info); err != nil {
			return &Refusal{Path: file.path, Why: "its owner or access list could not be kept (" + reason(err) + "); the file is as it was",
				Next: "repeat the command as the owner of the file", Err: err}
		}
	}
	if err := f.Chmod(mode); err != nil && runtime.GOOS != "windows" {
		return unwritten(err)
	}
	if err := f.Sync(); err != nil {
		return unwritten(err)
	}
	if err := f.Close(); err != nil {
		return unwritten(err)
	}
	return nil
}

// put gives the prepared file the name of the other. A link never takes the place of a file that appeared in the last
// moment, as a rename would; where there are no hard links, the look just before has to do.
func put(temp string, file place, create bool) error {
	if create {
		err := os.Link(temp, file.real)
		if err == nil {
			os.Remove(temp)
			return nil
		}
		if errors.Is(err, fs.ErrExist) {
			return file.mustBeAbsent()
		}
	}
	if err := robustio.Rename(temp, file.real); err != nil {
		return irreplaceable(file, err)
	}
	return nil
}

func (p place) mustBeAbsent() error {
	_, err := p.mustBe(nil)
	return err
}

func irreplaceable(file place, err error) error {
	r := &Refusal{Path: file.path, Why: "it cannot be replaced: " + reason(err) + "; the file is as it was", Next: "change it by hand", Err: err}
	switch {
	case errors.Is(err, syscall.EBUSY), errors.Is(err, syscall.EXDEV):
		r.Why = "it is mounted on its own, as containers do, so it cannot be replaced as a whole; the file is as it was"
		r.Next = "mount its folder instead of the file, run gauze where the file really is, or change it by hand"
	case runtime.GOOS == "windows":
		r.Next = "another program may have it open: close that and repeat the command"
	}
	return r
}

// syncDir puts a rename on disk. Systems that cannot do that do it by themselves.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		f.Sync()
		f.Close()
	}
}
