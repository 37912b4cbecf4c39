package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/rogpeppe/go-internal/robustio"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// tempPrefix is the prefix of our temporary files.
const tempPrefix = ".gauze-"

// replace replaces the file atomically: it writes a temporary file in the same directory and
// exchanges the two. If that is impossible (a file that is a mount point, a directory that is not
// writable) it returns an error, because writing to the file itself could leave half of it after a
// crash.
func (s Store) replace(file place, info fs.FileInfo, c Change, kept record) error {
	if c.New == nil {
		s.reach(stepReady)
		err := file.checkUnchanged(c.Old, info)
		if err == nil {
			s.reach(stepChecked)
			err = s.takeAway(file, kept.beside(), c, info)
		}
		files.SyncDir(filepath.Dir(file.real))
		return err
	}

	dir := filepath.Dir(file.real)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &Refusal{Path: file.path, Why: "its directory cannot be created: " + files.Reason(err), Next: "create the directory " + dir + " yourself", Err: err}
	}
	temp := kept.temp()
	if err := s.prepare(temp, info, kept.Mode, file, c.New); err != nil {
		os.Remove(temp)
		return err
	}
	s.reach(stepReady)
	err := file.checkUnchanged(c.Old, info)
	if err == nil {
		s.reach(stepChecked)
		err = s.put(temp, file, info, c, kept)
	}
	os.Remove(temp)
	files.SyncDir(dir)
	return err
}

// put moves the temporary file to its final name.
func (s Store) put(temp string, file place, info fs.FileInfo, c Change, kept record) error {
	if info == nil {
		err := files.MoveNew(temp, file.real)
		if errors.Is(err, fs.ErrExist) {
			return file.checkAbsent()
		}
		if err != nil {
			return cannotReplace(file, err)
		}
		return nil
	}
	if err := robustio.Rename(temp, kept.beside()); err != nil {
		return cannotReplace(file, err)
	}
	return s.swap(file, kept.beside(), c, info)
}

// prepare writes the temporary file and gives it the owner, attributes and mode of the one it
// replaces.
func (s Store) prepare(temp string, info fs.FileInfo, mode fs.FileMode, file place, content []byte) error {
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &Refusal{
			Path: file.path,
			Why:  "its directory is not writable (" + files.Reason(err) + "), so it cannot be replaced safely",
			Next: "check the permissions on " + filepath.Dir(file.real) + ", or edit the file by hand",
			Err:  err,
		}
	}
	defer f.Close()
	s.reach(stepTemp)
	unwritten := func(err error) error {
		return &Refusal{Path: file.path, Why: "the new content could not be written (" + files.Reason(err) + "); the file is unchanged",
			Next: "free some disk space and run the command again", Err: err}
	}
	if _, err := f.Write(content); err != nil {
		return unwritten(err)
	}
	s.reach(stepHalf)
	if info != nil {
		if err := resemble(f, file.real, info); err != nil {
			return &Refusal{Path: file.path, Why: "its owner or ACL could not be preserved (" + files.Reason(err) + "); the file is unchanged",
				Next: "run the command again as the file's owner", Err: err}
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

func (p place) checkAbsent() error {
	_, err := p.checkContent(nil)
	return err
}

func cannotReplace(file place, err error) error {
	r := &Refusal{Path: file.path, Why: "it cannot be replaced: " + files.Reason(err) + "; the file is unchanged", Next: "edit it by hand", Err: err}
	switch {
	case errors.Is(err, syscall.EBUSY), errors.Is(err, syscall.EXDEV):
		r.Why = "it is itself a mount point, as in a container, so it cannot be replaced; the file is unchanged"
		r.Next = "mount its directory instead of the file, run gauze on the host, or edit the file by hand"
	case runtime.GOOS == "windows":
		r.Next = "another program may have it open: close that program and run the command again"
	}
	return r
}
