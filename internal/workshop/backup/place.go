package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// maxFileSize is the maximum size of a file that is changed.
const maxFileSize = 64 << 20

// place is a path and the file that it resolves to.
type place struct{ path, real string }

// find resolves links. A link in a project may lead anywhere, so the result must be in the
// directory within.
func find(path, within string) (place, error) {
	abs, err := absolute(path)
	if err != nil {
		return place{}, err
	}
	if within == "" {
		within = filepath.Dir(abs)
	}
	hops := 0
	real, err := follow(abs, &hops)
	if err != nil {
		return place{}, &Refusal{Path: abs, Why: "it cannot be resolved: " + files.Reason(err), Err: err}
	}
	if within, err = filepath.Abs(within); err == nil {
		within, err = follow(within, &hops)
	}
	if err != nil {
		return place{}, &Refusal{Path: within, Why: "it cannot be resolved: " + files.Reason(err), Err: err}
	}
	if way, err := filepath.Rel(within, real); err != nil || !filepath.IsLocal(way) {
		return place{}, &Refusal{
			Path: abs, Target: real, Err: ErrOutside,
			Why:  fmt.Sprintf("it is a link to %s, which is outside %s", real, within),
			Next: "if you want to change that file, use its own path",
		}
	}
	return place{abs, real}, nil
}

// follow resolves all links of a path, whose file may not exist yet.
func follow(path string, hops *int) (string, error) {
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	parent, err := follow(parent, hops)
	if err != nil {
		return "", err
	}
	path = filepath.Join(parent, filepath.Base(path))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return path, nil
	}
	if *hops++; *hops > 255 {
		return "", errors.New("too many levels of symbolic links")
	}
	link, err := os.Readlink(path)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(link) {
		link = filepath.Join(parent, link)
	}
	return follow(link, hops)
}

// read returns the content of the file and its info; both are nil if the file does not exist.
func (p place) read() ([]byte, fs.FileInfo, error) {
	refuse := func(why, next string, err error) ([]byte, fs.FileInfo, error) {
		return nil, nil, &Refusal{Path: p.path, Why: why, Next: next, Err: err}
	}
	info, err := files.Pin(os.Lstat(p.real))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return refuse("it cannot be inspected: "+files.Reason(err), "", err)
	case info.IsDir():
		return refuse("it is a directory", "use the path to a file in it", nil)
	case !info.Mode().IsRegular():
		return refuse("it is a "+kind(info.Mode())+", not a regular file", "use the path to a regular file", nil)
	case info.Size() > maxFileSize:
		return refuse(fmt.Sprintf("it is %d MB, which is too large for a configuration file", info.Size()>>20), "edit it by hand", nil)
	}
	content, err := os.ReadFile(p.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return refuse("it cannot be read: "+files.Reason(err), "check its permissions", err)
	}
	return content, info, nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// checkContent returns an error unless the file has exactly the old content.
func (p place) checkContent(old []byte) (fs.FileInfo, error) {
	now, info, err := p.read()
	if err != nil {
		return nil, err
	}
	why := ""
	switch {
	case old == nil && now != nil:
		why = "another program has created this file in the meantime"
	case old != nil && now == nil:
		why = "another program has removed this file since it was read"
	case !bytes.Equal(old, now):
		why = "another program has changed this file since it was read"
	default:
		return info, nil
	}
	return nil, &Refusal{
		Path: p.path, Err: ErrConflict,
		Why:  why + "; nothing was written",
		Next: "run the command again to use the current content",
	}
}

// Identity identifies the file that was read: the path itself (os.Lstat) and the file that it
// resolves to (os.Stat). Both are nil if the path did not exist.
type Identity struct{ Named, Behind fs.FileInfo }

// checkIdentity returns an error if a different file has replaced the one that was read, even with
// the same content: the user must see where a link leads before anything is written there.
func (p place) checkIdentity(seen *Identity, file fs.FileInfo) error {
	if seen == nil {
		return nil
	}
	named, err := os.Lstat(p.path)
	if err != nil {
		named = nil
	}
	isLink := func(info fs.FileInfo) bool { return info != nil && info.Mode()&fs.ModeSymlink != 0 }
	why := ""
	switch {
	case isLink(named) && !isLink(seen.Named):
		why = "a symbolic link has replaced it since it was read"
	case !same(seen.Named, named) || !same(seen.Behind, file):
		why = "another file has replaced it since it was read"
	default:
		return nil
	}
	return &Refusal{Path: p.path, Err: ErrConflict, Why: why + "; nothing was written",
		Next: "check that the file is the one you expect, then run the command again"}
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Mode().Type() == b.Mode().Type() && os.SameFile(a, b)
}

// checkUnchanged repeats checkContent directly before the file is replaced. A save after this check is
// noticed when the file is exchanged.
func (p place) checkUnchanged(old []byte, seen fs.FileInfo) error {
	info, err := p.checkContent(old)
	if err != nil || info == nil {
		return err
	}
	last, err := os.Lstat(p.real)
	if err != nil || !os.SameFile(seen, last) || last.Mode() != seen.Mode() ||
		!last.ModTime().Equal(info.ModTime()) || last.Size() != info.Size() {
		return &Refusal{Path: p.path, Err: ErrConflict, Why: "another program is changing this file; nothing was written",
			Next: "run the command again"}
	}
	return nil
}

// checkWritable returns an error if the file is write-protected or cannot be replaced without
// losing something.
func (p place) checkWritable(info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return &Refusal{Path: p.path, Why: "the file is read-only", Next: "make it writable and run the command again, or edit it by hand"}
	}
	// In a writable directory even a file without write permission could be replaced; do not.
	file, err := os.OpenFile(p.real, os.O_WRONLY, 0)
	if err != nil {
		return &Refusal{Path: p.path, Why: "it is not writable: " + files.Reason(err), Next: "check its owner and permissions", Err: err}
	}
	defer file.Close()
	if n := names(file); n > 1 {
		return &Refusal{
			Path: p.path,
			Why:  fmt.Sprintf("it has %d hard links, and the others would keep the old content", n),
			Next: "edit it by hand, or break the link: copy the file and move the copy over the original",
		}
	}
	return nil
}

// isTemp reports whether a name read from disk is one of our temporary files.
func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, ".tmp") && filepath.Base(name) == name
}
