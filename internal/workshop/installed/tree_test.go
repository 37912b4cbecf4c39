package installed

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// tree is a Disk of files by path. A content that begins with "-> " is a symbolic link.
type tree map[string]string

const link = "-> "

func (t tree) Real(name string) (string, error) {
	real := ""
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		real = path.Join(real, part)
		if part == "" {
			real = "/"
		}
		if to, ok := strings.CutPrefix(t[real], link); ok {
			if !path.IsAbs(to) && !strings.Contains(to, ":") {
				to = path.Join(path.Dir(real), to)
			}
			var err error
			if real, err = t.Real(to); err != nil {
				return "", err
			}
		}
	}
	if _, ok := t[real]; ok || len(t.below(real)) > 0 {
		return real, nil
	}
	return "", fs.ErrNotExist
}

func (t tree) below(dir string) (names []string) {
	for file := range maps.Keys(t) {
		if rest, ok := strings.CutPrefix(file, strings.TrimRight(dir, "/")+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (t tree) ReadFile(name string) ([]byte, error) {
	real, err := t.Real(name)
	if err != nil {
		return nil, err
	}
	content, ok := t[real]
	if !ok {
		return nil, fs.ErrInvalid
	}
	return []byte(content), nil
}

func (t tree) ReadDir(name string) (entries []fs.DirEntry, err error) {
	real, err := t.Real(name)
	if err != nil {
		return nil, err
	}
	for _, name := range t.below(real) {
		entries = append(entries, entry(name))
	}
	return entries, nil
}

// entry is a name in a directory.
type entry string

func (e entry) Name() string             { return string(e) }
func (entry) IsDir() bool                { return false }
func (entry) Type() fs.FileMode          { return 0 }
func (entry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
