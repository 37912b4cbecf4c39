package upgrade

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// Replacement puts a program in the place of an installed one. At every moment the installed path has the
// old program or the new one, whole. Windows is the exception: a running program cannot be replaced there,
// only renamed, so that for the time between two renames the path does not exist.
type Replacement struct {
	path  string // the installed program
	mode  fs.FileMode
	fresh string // the new program beside it, until it is in its place
	file  file
	disk  disk
	aside bool // rename the old program before the new one takes its place
}

// leftover is the name of a file that a replacement makes beside the program. One that was killed
// leaves it behind.
var leftover = regex.New(`^\.gauze-upgrade-[A-Z2-7]{26}-(?:new|old)(?:\.exe)?$`)

// Replace prepares the replacement of the program at path, so that an installation that cannot be changed
// is refused before anything is downloaded. It also removes what an earlier one left behind. If two
// processes do this at the same time, one may remove the new file of the other, which then fails and
// changes nothing. The caller must call Close.
func Replace(path string) (*Replacement, error) {
	return replaceOn(realDisk{}, path, runtime.GOOS == "windows")
}

func replaceOn(d disk, path string, aside bool) (*Replacement, error) {
	real, err := filepath.EvalSymlinks(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the installed program %s: %s; nothing was changed\nnext: download gauze again from "+Address, path, files.Reason(err))
	}
	r := &Replacement{path: real, mode: info.Mode().Perm(), disk: d, aside: aside}
	r.removeLeftovers()
	r.fresh = r.beside("new")
	if r.file, err = d.create(r.fresh, info); err != nil {
		return nil, &DirError{Dir: filepath.Dir(real), Err: err}
	}
	return r, nil
}

// DirError means that the directory of the program cannot be written to.
type DirError struct {
	Dir string
	Err error
}

func (e *DirError) Error() string {
	return fmt.Sprintf("cannot create a file in %s: %s; nothing was changed", e.Dir, files.Reason(e.Err))
}

func (e *DirError) Unwrap() error { return e.Err }

// beside returns a new name for a file in the directory of the program.
func (r *Replacement) beside(what string) string {
	return filepath.Join(filepath.Dir(r.path), ".gauze-upgrade-"+rand.Text()+"-"+what+filepath.Ext(programName(runtime.GOOS)))
}

// removeLeftovers removes the files of replacements that were killed. An old program that is still
// running stays, on Windows.
func (r *Replacement) removeLeftovers() {
	dir := filepath.Dir(r.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // nothing can be created there either
	}
	for _, entry := range entries {
		if leftover.MatchString(entry.Name()) && entry.Type().IsRegular() {
			r.disk.remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Put writes the program beside the installed one, runs it once, and gives it its name if it reports
// the version.
func (r *Replacement) Put(ctx context.Context, program []byte, version string) error {
	if err := r.write(program); err != nil {
		return fmt.Errorf("the new program could not be written to %s: %s; nothing was changed\nnext: free some disk space, and try again", filepath.Dir(r.path), files.Reason(err))
	}
	said, err := r.disk.run(ctx, r.fresh)
	if err != nil {
		return fmt.Errorf("gauze %s does not run on this machine (%s); nothing was changed\nnext: report it at https://github.com/gauze-mcp/gauze/issues with the output of gauze version", version, redact.Quote(err.Error()))
	}
	said, _, _ = strings.Cut(said, "\n")
	if words := strings.Fields(said); len(words) < 2 || words[0] != "gauze" || words[1] != version {
		return fmt.Errorf("the new program should report version %s, but reports %q; nothing was changed%s", version, redact.Quote(said), suspicious)
	}
	if err := r.swap(); err != nil {
		return fmt.Errorf("%s could not be replaced: %w", r.path, err)
	}
	r.disk.syncDir(filepath.Dir(r.path))
	return nil
}

// write writes the program so that it is on the disk, whole, before it gets its name.
func (r *Replacement) write(program []byte) error {
	_, err := r.file.Write(program)
	if err == nil {
		err = r.file.Chmod(r.mode)
	}
	if err == nil {
		err = r.file.Sync()
	}
	err = errors.Join(err, r.file.Close())
	r.file = nil
	return err
}

// swap gives the new program its name.
func (r *Replacement) swap() error {
	unchanged := func(err error) error {
		return errors.New(files.Reason(err) + "; nothing was changed\nnext: try again")
	}
	if !r.aside {
		if err := r.disk.rename(r.fresh, r.path); err != nil {
			return unchanged(err)
		}
		return nil
	}
	old := r.beside("old")
	if err := r.disk.rename(r.path, old); err != nil {
		return unchanged(err)
	}
	if err := r.disk.rename(r.fresh, r.path); err != nil {
		if undo := r.disk.rename(old, r.path); undo != nil {
			return fmt.Errorf("%s, and the old program could not be renamed back: %s\nnext: rename %s to %s", files.Reason(err), files.Reason(undo), old, r.path)
		}
		return unchanged(err)
	}
	r.disk.remove(old) // fails while it is running; the next replacement removes it
	return nil
}

// Close removes the new program if it did not get its place.
func (r *Replacement) Close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
	r.disk.remove(r.fresh)
}

// Path returns the file that is replaced. It is not a link.
func (r *Replacement) Path() string { return r.path }
