package clientconfig

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

var update = flag.Bool("update", false, "write the goldens anew")

// memory is a Disk in memory, with the paths of any system.
type memory struct {
	files map[string]string
	links map[string]string
	sep   string
}

func (m memory) separator() string {
	if m.sep == "" {
		return "/"
	}
	return m.sep
}

func (m memory) Lstat(path string) (fs.FileInfo, error) {
	if _, ok := m.links[path]; ok {
		return info{name: path, mode: fs.ModeSymlink}, nil
	}
	return m.Stat(path)
}

func (m memory) Stat(path string) (fs.FileInfo, error) {
	if to, ok := m.links[path]; ok {
		return m.Stat(to)
	}
	if text, ok := m.files[path]; ok {
		return info{name: path, size: int64(len(text))}, nil
	}
	for name := range m.files {
		if strings.HasPrefix(name, path+m.separator()) {
			return info{name: path, mode: fs.ModeDir}, nil
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

func (m memory) Readlink(path string) (string, error) { return m.links[path], nil }

func (m memory) ReadFile(path string) ([]byte, error) {
	if to, ok := m.links[path]; ok {
		path = to
	}
	text, ok := m.files[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if strings.TrimSpace(text) == "forbidden" {
		return nil, fs.ErrPermission
	}
	return []byte(text), nil
}

func (m memory) ReadDir(dir string) (all []fs.DirEntry, err error) {
	seen := map[string]bool{}
	for name := range m.files {
		rest, ok := strings.CutPrefix(name, dir+m.separator())
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, m.separator())
		if !seen[first] {
			seen[first] = true
			mode := fs.FileMode(0)
			if deeper {
				mode = fs.ModeDir
			}
			all = append(all, fs.FileInfoToDirEntry(info{name: first, mode: mode}))
		}
	}
	if all == nil {
		return nil, fs.ErrNotExist
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// homeOf makes a home of an archive: home/ is /home/me, project/ the project in
// it; -- environ -- adds variables, -- system -- is another system.
func homeOf(a *txtar.Archive) Home {
	disk := memory{files: map[string]string{"/home/me/project/.git/HEAD": "ref: refs/heads/main"}, links: map[string]string{}}
	h := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"PATH=/usr/bin", "HOME=/home/me"}, Disk: disk}
	for _, f := range a.Files {
		text := string(f.Data)
		switch top, rest, _ := strings.Cut(f.Name, "/"); top {
		case "home":
			disk.files["/home/me/"+rest] = text
		case "project":
			disk.files["/home/me/project/"+rest] = text
		case "environ":
			h.Environ = append(h.Environ, strings.Fields(text)...)
		case "gauze":
			h.Gauze = strings.TrimSpace(text)
		case "system":
			h.OS = strings.TrimSpace(text)
		}
	}
	if h.OS != "windows" {
		return h
	}
	there := memory{files: map[string]string{}, sep: `\`}
	for path, text := range disk.files {
		there.files[strings.ReplaceAll("C:"+path, "/", `\`)] = text
	}
	h.Home, h.Project, h.Disk = `C:\home\me`, `C:\home\me\project`, there
	return h
}

// archive reads a golden file; its part want (and others) is compared by check.
type archive struct {
	*txtar.Archive
	path string
}

func readArchive(t *testing.T, path string) archive {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive{a, path}
}

func (a archive) part(name string) (string, bool) {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

// check compares a part with what was got, or writes it anew.
func (a archive) check(t *testing.T, name, got string) {
	t.Helper()
	want, _ := a.part(name)
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s, part %s\n--- got\n%s--- want\n%s", a.path, name, got, want)
		return
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: name})
		i = len(a.Files) - 1
	}
	a.Files[i].Data = []byte(got)
	if err := os.WriteFile(a.path, txtar.Format(a.Archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// describe is an entry as the goldens have it, secrets and all.
func describe(h Home, e Entry) string {
	var b strings.Builder
	_, column := e.src.outer.Place()
	fmt.Fprintf(&b, "%s | %s %s:%d:%d | %s", e.Name, e.Scope, shortPath(h, e.File), e.Line, column, e.Transport)
	for _, note := range []struct {
		is   bool
		text string
	}{{e.Disabled, "off"}, {e.Builtin != "", "builtin " + e.Builtin}, {e.Wrapped, "wrapped"}, {e.Timeout > 0, "call " + e.Timeout.String()}, {e.Start > 0, "start " + e.Start.String()},
		{len(e.Unset) > 0, "unset " + strings.Join(e.Unset, " ")}, {len(e.Waiting) > 0, "waiting " + strings.Join(e.Waiting, " ")}} {
		if note.is {
			b.WriteString(", " + note.text)
		}
	}
	b.WriteString("\n")
	if e.Spec.Command != "" {
		fmt.Fprintf(&b, "  run %q %q\n", e.Spec.Command, e.Spec.Args)
	}
	if e.Spec.Dir != "" {
		fmt.Fprintf(&b, "  in %s\n", e.Spec.Dir)
	}
	if e.Spec.URL != "" {
		fmt.Fprintf(&b, "  at %s\n", e.Spec.URL)
	}
	if len(e.Spec.Env) > 0 {
		fmt.Fprintf(&b, "  env %q\n", e.Spec.Env)
	}
	for _, header := range e.Spec.Header {
		fmt.Fprintf(&b, "  header %s: %s (%s)\n", header.Name, header.Value, header.Source)
	}
	if e.Inner != nil {
		fmt.Fprintf(&b, "  inner %q %q %s\n", e.Inner.Command, e.Inner.Args, e.Inner.URL)
	}
	return b.String()
}

func shortPath(h Home, path string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path, h.Home+h.separator()), `\`, "/")
}

// symlink makes a symbolic link. Only Windows may not allow it, and wine only says
// that it has made one.
func symlink(t *testing.T, to, at string) {
	t.Helper()
	err := os.Symlink(to, at)
	if err == nil {
		_, err = os.Readlink(at)
	}
	if err != nil {
		windowstest.Skip(t)
		t.Fatal(err)
	}
}

func archives(t *testing.T, pattern string) []archive {
	t.Helper()
	paths, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil || len(paths) == 0 {
		t.Fatal(errors.Join(err, errors.New("no goldens: "+pattern)))
	}
	var all []archive
	for _, path := range paths {
		all = append(all, readArchive(t, path))
	}
	return all
}

func (a archive) name() string { return strings.TrimSuffix(filepath.Base(a.path), ".txtar") }

// counting is a Disk that counts how often each path is looked at.
type counting struct {
	memory
	looks map[string]int
}

func (d counting) Lstat(path string) (fs.FileInfo, error) {
	d.looks[path]++
	return d.memory.Lstat(path)
}

func TestTheRepositoryIsLookedForOncePerLook(t *testing.T) {
	disk := counting{memory{files: map[string]string{"/me/work/.git/HEAD": "", "/me/work/opencode.json": "{}", "/me/work/deep/opencode.json": "{}"}}, map[string]int{}}
	h := Home{OS: "linux", Home: "/me", Project: "/me/work/deep", Disk: disk}
	if found := len(h.Find()); found < 2 {
		t.Fatalf("%d files", found)
	}
	if n := disk.looks["/me/work/deep/.git"]; n != 1 {
		t.Errorf("looked %d times", n)
	}
	disk.files["/me/work/deep/.git/HEAD"] = ""
	if got := h.Root(); got != "/me/work/deep" {
		t.Errorf("a repository that is new since the last look: root %s", got)
	}
}
