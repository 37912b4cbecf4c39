package clientconfig

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Home is the user and the project whose files are read. No file outside the places of the table is
// opened.
type Home struct {
	OS      string // linux, darwin or windows
	Home    string
	Project string   // absolute; empty for none
	Environ []string // NAME=value: can move files, and clients expand references from it
	Windows string   // under WSL, the Windows home, such as /mnt/c/Users/me; empty for none
	Disk    Disk     // nil for the local disk
	Gauze   string   // path at which clients find this gauze; empty if it is not known
	Copy    string   // path of the copy that gauze makes of itself in the user's data directory; empty for none

	root func() string // within one look: what Root has found; nil: it looks
}

// Disk provides access to files.
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
	Err    error // why it exists but cannot be read
}

// maxFileBytes bounds the files that are read: ten times the size of a client's file with its
// history.
const maxFileBytes = 10 << 20

var (
	errTooLarge = errors.New("the file is larger than 10 MB")
	errOutside  = errors.New("a symbolic link points outside the project")
)

// Getenv returns the value of a variable.
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

// Places returns where the clients' files would be, whether they exist or not. A pattern yields
// only files that exist.
func (h Home) Places(of ...*Client) (files []File) {
	if len(of) == 0 {
		of = clients()
	}
	h.root = sync.OnceValue(h.Root) // many places need it
	for _, c := range of {
		for _, p := range c.Places {
			for _, where := range h.paths(p) {
				if h.replaced(where, p, c, files) {
					p.Old = p.Unless
				}
				same := func(f File) bool { return f.Path == where && f.Client == c && reflect.DeepEqual(f.Place.Keys, p.Keys) }
				if !slices.ContainsFunc(files, same) {
					files = append(files, h.look(where, c, p))
				}
			}
		}
	}
	return files
}

// replaced reports whether a file is not read because a file at one of the client's earlier places
// exists.
func (h Home) replaced(where string, p Place, c *Client, earlier []File) bool {
	if p.Unless == "" || !slices.ContainsFunc(earlier, func(f File) bool { return f.Client == c && f.Exists }) {
		return false
	}
	if h.OS == "linux" { // only places on Windows replace others
		if h.Windows == "" || !strings.HasPrefix(where, h.Windows) {
			return false
		}
		h = h.windowsSide()
	}
	program, ok := h.resolve(p.Reader, "")
	return !ok || !h.exists(program)
}

func (h Home) exists(path string) bool {
	_, err := h.disk().Stat(path)
	return err == nil
}

// windowsSide returns the Windows home as WSL sees it, with paths in Linux form.
func (h Home) windowsSide() Home { return Home{OS: "linux", Home: h.Windows, Disk: h.Disk} }

// Find returns the files that exist. Another client's file counts only if this client is also in
// use.
func (h Home) Find(of ...*Client) []File {
	return slices.DeleteFunc(h.Places(of...), func(f File) bool { return !f.Exists || f.Place.Borrowed && !h.Uses(f.Client) })
}

// Uses reports whether a client is in use: whether its file, or the directory of it, exists.
func (h Home) Uses(c *Client) bool {
	if dir, ok := h.resolve(c.Sign, ""); ok && h.exists(dir) {
		return true
	}
	for _, p := range c.Places {
		if p.Scope != User || p.Borrowed {
			continue
		}
		for _, where := range h.paths(p) {
			dir := h.parent(where)
			if h.exists(where) || dir != strings.TrimRight(h.Home, `/\`) && h.exists(dir) {
				return true
			}
		}
	}
	return false
}

// LogsOf returns the pattern of the logs that a client keeps of a server.
func (h Home) LogsOf(c *Client, server string) (string, bool) {
	return h.resolve(strings.ReplaceAll(c.Log.on(h.OS), "NAME", server), "")
}

// PluginsOf returns the file in which a client lists its plugins, if it has one.
func (h Home) PluginsOf(c *Client) (string, bool) {
	if c.Tools.Plugins == "" {
		return "", false
	}
	return h.resolve(c.Tools.Plugins, "")
}

// paths returns the paths that a template stands for on this machine.
func (h Home) paths(p Place) (all []string) {
	for _, template := range alternatives(p.on(h.OS)) {
		folders := []string{""}
		if strings.HasPrefix(template, "./") {
			folders = h.folders(p.Up)
		}
		for _, folder := range folders {
			if where, ok := h.resolve(template, folder); ok {
				all = append(all, h.glob(where)...)
			}
		}
	}
	if h.Windows == "" || h.OS != "linux" {
		return all
	}
	for _, template := range alternatives(p.Windows) {
		if where, ok := h.windowsSide().resolve(template, ""); ok && strings.Contains(template, "~") {
			all = append(all, h.glob(where)...)
		}
	}
	return all
}

// folders returns the project, if there is one, and, if up is set, the directories above it up to the
// root of the repository.
func (h Home) folders(up bool) (all []string) {
	root := h.Project
	if up {
		root = h.Root()
	}
	for dir := h.Project; dir != ""; dir = h.parent(dir) {
		if all = append(all, dir); dir == root {
			break
		}
	}
	return all
}

// Repository returns the directory with .git: the project or one above it.
func (h Home) Repository() (string, bool) {
	for dir, last := h.Project, ""; dir != last; dir, last = h.parent(dir), dir {
		for _, mark := range []string{".git", ".hg", ".jj", ".svn"} {
			if _, err := h.disk().Lstat(h.join(dir, mark)); err == nil {
				return dir, true
			}
		}
	}
	return "", false
}

// Root returns the outermost directory of the project: its repository, or the project itself. Links
// in the project's files must not leave it.
func (h Home) Root() string {
	if h.root != nil {
		return h.root()
	}
	if root, ok := h.Repository(); ok {
		return root
	}
	return h.Project
}

// leavesProject reports whether links on the way to a project's file leave the project. A
// repository can contain a link to any file of the user.
func (h Home) leavesProject(file string) bool {
	root := strings.TrimRight(h.real(h.Root()), h.separator()) + h.separator()
	return !strings.HasPrefix(h.real(file), root)
}

// real returns a path without links.
func (h Home) real(path string) string {
	if to, err := h.disk().Readlink(path); err == nil && to != "" {
		return to
	}
	return path
}

func (h Home) parent(dir string) string {
	if h.OS == "windows" && strings.HasSuffix(dir, ":") {
		return dir // a drive has no parent: path.Dir would lead to the working directory
	}
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

// resolve expands a template to a path. It returns false if a required variable is not set.
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

// fill expands ~ and ${NAME:-default}, which may be nested in a default. It returns false if one has no
// value.
func (h Home) fill(template string) (string, bool) {
	at := strings.IndexAny(template, "~$")
	if at < 0 {
		return template, true
	}
	value, end := h.Home, at+1
	if template[at] == '$' {
		end = closing(template, at+1) + 1
		name, otherwise, _ := strings.Cut(template[min(at+2, end-1):end-1], ":-")
		if value = h.Getenv(name); value == "" {
			value, _ = h.fill(otherwise)
		}
	}
	rest, ok := h.fill(template[end:])
	if !ok || value == "" {
		return "", false
	}
	return template[:at] + strings.TrimRight(value, `/\`) + rest, true
}

// closing returns the index of the brace that closes the one at open.
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

// alternatives expands {a,b}, but not ${...}.
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

// glob returns the paths that match a pattern; a path without a star is returned unchanged. It does
// not follow links to other directories.
func (h Home) glob(where string) (found []string) {
	before, _, starred := strings.Cut(where, "*")
	if !starred {
		return []string{where}
	}
	cut := strings.LastIndex(before, h.separator())
	pattern, below, deeper := strings.Cut(where[cut+1:], h.separator())
	const maxEntries = 1000
	entries, err := h.disk().ReadDir(where[:cut])
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(maxEntries, len(entries))] {
		one := h.join(where[:cut], e.Name())
		switch matches, _ := path.Match(pattern, e.Name()); {
		case !matches || e.IsDir() != deeper:
		case deeper:
			found = append(found, h.glob(one+h.separator()+below)...)
		default:
			found = append(found, one)
		}
	}
	return found
}

// look returns the file at a path.
func (h Home) look(where string, c *Client, p Place) File {
	f := File{Path: where, Client: c, Place: p}
	info, err := h.disk().Lstat(where)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
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
		f.Err = errors.New("it is not a regular file") // reading a pipe would block
	case p.inProject() && h.leavesProject(where):
		f.Err = errOutside
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

// machine is the local Disk.
type machine struct{}

func (machine) Lstat(path string) (fs.FileInfo, error)    { return os.Lstat(path) }
func (machine) Stat(path string) (fs.FileInfo, error)     { return os.Stat(path) }
func (machine) Readlink(path string) (string, error)      { return filepath.EvalSymlinks(path) }
func (machine) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (machine) ReadFile(path string) ([]byte, error)      { return os.ReadFile(path) }
