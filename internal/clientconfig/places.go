package clientconfig

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Home is whose files are looked for, and in which project. Nothing outside of
// the places of the table is opened.
type Home struct {
	OS      string // linux, darwin, windows
	Home    string
	Project string   // absolute; empty: none
	Environ []string // NAME=value: moves files, and is what clients expand from
	Windows string   // under WSL the home of Windows, as in /mnt/c/Users/me; empty: none
	Disk    Disk     // nil: this machine's
}

// Disk is what is asked of files.
type Disk interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	ReadDir(dir string) ([]fs.DirEntry, error)
	ReadFile(path string) ([]byte, error)
}

// File is a place on this machine.
type File struct {
	Path   string
	Client *Client
	Place  Place
	Exists bool
	Link   string // where it leads, if it is a symbolic link
	Err    error  // it is there and cannot be read
}

// maxFileBytes is the size up to which a file is read: ten times what a client's
// file with all its history has.
const maxFileBytes = 10 << 20

var (
	errTooLarge = errors.New("the file is larger than 10 MB")
	errLeaves   = errors.New("a symbolic link points outside the project")
)

// Getenv is the value of a variable.
func (h Home) Getenv(name string) string {
	value, _ := h.lookup(name)
	return value
}

func (h Home) lookup(name string) (string, bool) {
	for i := len(h.Environ) - 1; i >= 0; i-- {
		key, value, ok := strings.Cut(h.Environ[i], "=")
		if ok && (key == name || h.OS == "windows" && strings.EqualFold(key, name)) {
			return value, true
		}
	}
	return "", false
}

// Places lists where the clients would have their files, whether they are there
// or not. Of a pattern only what is there is listed.
func (h Home) Places(of ...*Client) (files []File) {
	if len(of) == 0 {
		of = clients
	}
	for _, c := range of {
		for _, p := range c.Places {
			for _, where := range h.paths(p) {
				if h.replaced(where, p, c, files) {
					p.Old = p.Unless
				}
				if !slices.ContainsFunc(files, func(f File) bool { return f.Path == where && f.Client == c && sameKeys(f.Place.Keys, p.Keys) }) {
					files = append(files, h.look(where, c, p))
				}
			}
		}
	}
	return files
}

// replaced reports whether a file is not read because one of the client's
// earlier places has one.
func (h Home) replaced(where string, p Place, c *Client, earlier []File) bool {
	if p.Unless == "" || !slices.ContainsFunc(earlier, func(f File) bool { return f.Client == c && f.Exists }) {
		return false
	}
	if h.OS == "linux" { // the places that replace others are of Windows
		if h.Windows == "" || !strings.HasPrefix(where, h.Windows) {
			return false
		}
		h = h.across()
	}
	program, ok := h.resolve(p.Reader, "")
	if !ok {
		return true
	}
	_, err := h.disk().Stat(program)
	return err != nil
}

// across is the home of Windows as WSL has it: its paths are written as those
// of Linux.
func (h Home) across() Home { return Home{OS: "linux", Home: h.Windows, Disk: h.Disk} }

// Find lists the files that are there. A file that belongs to another client
// counts only where this one is in use, too.
func (h Home) Find(of ...*Client) []File {
	return slices.DeleteFunc(h.Places(of...), func(f File) bool { return !f.Exists || f.Place.Borrowed && !h.Uses(f.Client) })
}

// Uses tells whether there is a sign of a client: the folder of its file.
func (h Home) Uses(c *Client) bool {
	exists := func(dir string) bool {
		_, err := h.disk().Stat(dir)
		return err == nil
	}
	if dir, ok := h.resolve(c.Sign, ""); ok && exists(dir) {
		return true
	}
	for _, p := range c.Places {
		if p.Scope != User || p.Borrowed {
			continue
		}
		for _, where := range h.paths(p) {
			if dir := h.parent(where); dir != strings.TrimRight(h.Home, `/\`) && exists(dir) {
				return true
			}
		}
	}
	return false
}

func sameKeys(a, b [][]string) bool {
	return slices.EqualFunc(a, b, slices.Equal[[]string])
}

// paths are the places a template names here.
func (h Home) paths(p Place) (all []string) {
	template := map[string]string{"linux": p.Linux, "darwin": p.Darwin, "windows": p.Windows}[h.OS]
	for _, one := range alternatives(template) {
		inProject := strings.HasPrefix(one, "./")
		if inProject && h.Project == "" {
			continue
		}
		folders := []string{""}
		if inProject {
			folders = h.folders(p.Up)
		}
		for _, folder := range folders {
			if where, ok := h.resolve(one, folder); ok {
				all = append(all, h.glob(where)...)
			}
		}
	}
	if h.Windows == "" || h.OS != "linux" {
		return all
	}
	for _, one := range alternatives(p.Windows) {
		if strings.Contains(one, "~") {
			if where, ok := h.across().resolve(one, ""); ok {
				all = append(all, h.glob(where)...)
			}
		}
	}
	return all
}

// folders are the project and, if asked for, those above it up to the root of
// the repository.
func (h Home) folders(up bool) []string {
	all := []string{h.Project}
	root, ok := h.Repository()
	if !up || !ok {
		return all
	}
	for dir := h.Project; dir != root; {
		dir = h.parent(dir)
		all = append(all, dir)
	}
	return all
}

// Repository is the folder with .git, the project or one above it.
func (h Home) Repository() (string, bool) {
	for dir := h.Project; dir != ""; dir = h.parent(dir) {
		if _, err := h.disk().Lstat(h.join(dir, ".git")); err == nil {
			return dir, true
		}
		if h.parent(dir) == dir {
			break
		}
	}
	return "", false
}

// Root is the outermost folder of the project: its repository, or the project
// itself. Links of the project's files may not lead out of it.
func (h Home) Root() string {
	if root, ok := h.Repository(); ok {
		return root
	}
	return h.Project
}

// leaves reports whether links on the way to a project's file lead out of the
// project. A repository can bring a link to any file of the user's.
func (h Home) leaves(file string) bool {
	real := func(path string) string {
		if to, err := h.disk().Readlink(path); err == nil && to != "" {
			return to
		}
		return path
	}
	root := strings.TrimRight(real(h.Root()), h.separator()) + h.separator()
	return !strings.HasPrefix(real(file), root)
}

func (h Home) parent(dir string) string {
	slashed := path.Dir(strings.ReplaceAll(dir, h.separator(), "/"))
	return strings.ReplaceAll(slashed, "/", h.separator())
}

func (h Home) separator() string {
	if h.OS == "windows" {
		return `\`
	}
	return "/"
}

func (h Home) join(dir, name string) string {
	return strings.TrimRight(dir, h.separator()) + h.separator() + strings.ReplaceAll(name, "/", h.separator())
}

// resolve makes a path of a template. It is not ok if a variable it needs is
// not set.
func (h Home) resolve(template, project string) (string, bool) {
	filled, ok := h.fill(template)
	if !ok || filled == "" {
		return "", false
	}
	if rest, inProject := strings.CutPrefix(filled, "./"); inProject {
		return h.join(project, rest), true
	}
	return strings.ReplaceAll(filled, "/", h.separator()), true
}

// fill puts in variables, which may stand inside of each other's default, and
// the home.
func (h Home) fill(template string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(template); {
		switch {
		case template[i] == '~':
			if h.Home == "" {
				return "", false
			}
			b.WriteString(strings.TrimRight(h.Home, `/\`))
			i++
		case strings.HasPrefix(template[i:], "${"):
			end := closing(template, i+1)
			name, otherwise, _ := strings.Cut(template[i+2:end], ":-")
			value := h.Getenv(name)
			if value == "" {
				var ok bool
				if value, ok = h.fill(otherwise); !ok {
					return "", false
				}
			}
			b.WriteString(strings.TrimRight(value, `/\`))
			i = end + 1
		case template[i] == '$':
			end := i + 1
			for end < len(template) && template[end] != '/' {
				end++
			}
			value := h.Getenv(template[i+1 : end])
			if value == "" {
				return "", false
			}
			b.WriteString(value)
			i = end
		default:
			b.WriteByte(template[i])
			i++
		}
	}
	return b.String(), true
}

// closing is where the brace at open ends.
func closing(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s) - 1
}

// alternatives writes out {a,b}; ${...} is no such thing.
func alternatives(template string) []string {
	for i := 0; i < len(template); i++ {
		if strings.HasPrefix(template[i:], "${") {
			i = closing(template, i+1)
			continue
		}
		if template[i] != '{' {
			continue
		}
		end := closing(template, i)
		var all []string
		for choice := range strings.SplitSeq(template[i+1:end], ",") {
			all = append(all, alternatives(template[:i]+choice+template[end+1:])...)
		}
		return all
	}
	if template == "" {
		return nil
	}
	return []string{template}
}

// glob finds what a path with stars names; a path without is itself. A link is
// not followed into another folder.
func (h Home) glob(where string) (found []string) {
	dir, rest, starred := strings.Cut(where, "*")
	if !starred {
		return []string{where}
	}
	cut := strings.LastIndex(dir, h.separator())
	dir, before := dir[:cut], dir[cut+1:]
	after, below, deeper := strings.Cut(rest, h.separator())
	const maxEntries = 1000
	entries, err := h.disk().ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(maxEntries, len(entries))] {
		name := e.Name()
		if !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) || len(name) < len(before)+len(after) || e.IsDir() != deeper {
			continue
		}
		one := h.join(dir, name)
		if deeper {
			found = append(found, h.glob(one+h.separator()+below)...)
		} else {
			found = append(found, one)
		}
	}
	return found
}

// look says what is at a path.
func (h Home) look(where string, c *Client, p Place) File {
	f := File{Path: where, Client: c, Place: p}
	info, err := h.disk().Lstat(where)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		f.Link, _ = h.disk().Readlink(where)
		if info, err = h.disk().Stat(where); errors.Is(err, fs.ErrNotExist) {
			err = errors.New("the symbolic link is broken")
		}
	}
	f.Exists, f.Err = true, err
	switch {
	case err != nil:
	case info.IsDir():
		f.Err = errors.New("it is a directory")
	case !info.Mode().IsRegular():
		f.Err = errors.New("it is not a regular file") // a pipe would keep us waiting
	case p.inProject() && h.leaves(where):
		f.Err = errLeaves
	case info.Size() > maxFileBytes:
		f.Err = errTooLarge
	}
	return f
}

func (h Home) disk() Disk {
	if h.Disk != nil {
		return h.Disk
	}
	return machine{}
}

// machine is the Disk of this machine.
type machine struct{}

func (machine) Lstat(path string) (fs.FileInfo, error)    { return os.Lstat(path) }
func (machine) Stat(path string) (fs.FileInfo, error)     { return os.Stat(path) }
func (machine) Readlink(path string) (string, error)      { return filepath.EvalSymlinks(path) }
func (machine) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (machine) ReadFile(path string) ([]byte, error)      { return os.ReadFile(path) }
