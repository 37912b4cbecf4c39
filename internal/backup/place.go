package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/internal/fileid"
)

// largest is the size of a file that is still taken for somebody's configuration.
const largest = 64 << 20

// place is a file as it was asked for, and the file itself behind all links.
type place struct{ path, real string }

// find follows the links. A link in a project may lead anywhere, so where it ends is held against the folder within.
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
		return place{}, &Refusal{Path: abs, Why: "it cannot be found: " + reason(err), Err: err}
	}
	if within, err = filepath.Abs(within); err == nil {
		within, err = follow(within, &hops)
	}
	if err != nil {
		return place{}, &Refusal{Path: within, Why: "it cannot be found: " + reason(err), Err: err}
	}
	if way, err := filepath.Rel(within, real); err != nil || !filepath.IsLocal(way) {
		return place{}, &Refusal{
			Path: abs, Target: real, Err: ErrOutside,
			Why:  fmt.Sprintf("a link leads from here to %s, which is outside of %s", real, within),
			Next: "if that file is meant, name it itself",
		}
	}
	return place{abs, real}, nil
}

// follow is where the path leads, also if nothing is there yet: a link to a file that is still to be made is a link.
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
		return "", errors.New("the links lead round in a circle")
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

// read is what is in the file now, and what is known about it; both are nil if there is no file.
func (p place) read() ([]byte, fs.FileInfo, error) {
	refuse := func(why, next string, err error) ([]byte, fs.FileInfo, error) {
		return nil, nil, &Refusal{Path: p.path, Why: why, Next: next, Err: err}
	}
	info, err := fileid.Pin(os.Lstat(p.real))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return refuse("it cannot be looked at: "+reason(err), "", err)
	case info.IsDir():
		return refuse("it is a folder", "name a file in it", nil)
	case !info.Mode().IsRegular():
		return refuse("it is no ordinary file but a "+kind(info.Mode()), "name an ordinary file", nil)
	case info.Size() > largest:
		return refuse(fmt.Sprintf("it has %d MB, too much for a configuration", info.Size()>>20), "change it by hand", nil)
	}
	content, err := os.ReadFile(p.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return refuse("it cannot be read: "+reason(err), "see to its permissions", err)
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

// mustBe reads the file and is content only if it is exactly what was read before.
func (p place) mustBe(old []byte) (fs.FileInfo, error) {
	now, info, err := p.read()
	if err != nil {
		return nil, err
	}
	why := ""
	switch {
	case old == nil && now != nil:
		why = "somebody has made this file meanwhile"
	case old != nil && now == nil:
		why = "somebody has removed this file meanwhile"
	case !bytes.Equal(old, now):
		why = "somebody has changed this file since it was read"
	default:
		return info, nil
	}
	return nil, &Refusal{
		Path: p.path, Err: ErrConflict,
		Why:  why + "; nothing was written",
		Next: "repeat the command: it starts from what is there now",
	}
}

// Identity is which file was read, apart from its content: what the path itself is (os.Lstat) and the file it leads to
// (os.Stat). Both are nil if nothing was there.
type Identity struct{ Named, Behind fs.FileInfo }

// mustBeSeen refuses a file that is in the place of the one that was read. The same bytes do not make it the same file:
// where a link leads is for the user to see before anything is written there.
func (p place) mustBeSeen(seen *Identity, file fs.FileInfo) error {
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
		why = "a symbolic link took its place since it was read"
	case !same(seen.Named, named) || !same(seen.Behind, file):
		why = "it was replaced by a different file since it was read"
	default:
		return nil
	}
	return &Refusal{Path: p.path, Err: ErrConflict, Why: why + "; nothing was written",
		Next: "check that the file is the one you expect, then repeat the command"}
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Mode().Type() == b.Mode().Type() && os.SameFile(a, b)
}

// mustStill is mustBe for the last moment before the file is replaced. No system lets us compare and replace in one
// step, so whoever writes between the last look at the clock of the file and the rename is not noticed: microseconds,
// however large the file.
func (p place) mustStill(old []byte, seen fs.FileInfo) error {
	info, err := p.mustBe(old)
	if err != nil || info == nil {
		return err
	}
	last, err := os.Lstat(p.real)
	if err != nil || !os.SameFile(seen, last) || last.Mode() != seen.Mode() ||
		!last.ModTime().Equal(info.ModTime()) || last.Size() != info.Size() {
		return &Refusal{Path: p.path, Err: ErrConflict, Why: "somebody is changing this file right now; nothing was written",
			Next: "repeat the command"}
	}
	return nil
}

// mustYield refuses a file that its owner has protected, or that cannot be replaced without a loss.
func (p place) mustYield(info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return &Refusal{Path: p.path, Why: "it is read-only, and somebody will have had a reason", Next: "make it writable and repeat the command, or change it by hand"}
	}
	// A folder that can be written lets us replace a file that cannot. That is not ours to do.
	file, err := os.OpenFile(p.real, os.O_WRONLY, 0)
	if err != nil {
		return &Refusal{Path: p.path, Why: "it may not be written: " + reason(err), Next: "see to its owner and permissions", Err: err}
	}
	defer file.Close()
	if n := names(file); n > 1 {
		return &Refusal{
			Path: p.path,
			Why:  fmt.Sprintf("it has %d names (hard links), and the others would keep the old content", n),
			Next: "change it by hand, or make it a file of its own: copy it and move the copy over it",
		}
	}
	return nil
}

// isTemp guards what is removed by a name read from disk.
func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, ".tmp") && filepath.Base(name) == name
}
