package upfile

import (
	"fmt"
	"reflect"
	"slices"
)

// Changes is what a new version of a file changes, by the keys of servers. Each server is in one list.
type Changes struct {
	Unchanged []string
	Filtered  []string // only the tools that are listed: the process stays
	Changed   []string // how it is started, who may share it, or how it is used: a new generation
	Added     []string
	Removed   []string

	Profiles bool // profiles or tokens changed
}

// Diff compares two versions of a file. old is nil if there was none.
func Diff(old, now *File) (c Changes) {
	if old == nil {
		old = &File{}
	}
	for i := range now.Servers {
		s := &now.Servers[i]
		switch was := old.Server(s.Key); {
		case was == nil:
			c.Added = append(c.Added, s.Key)
		case was.identity() != s.identity():
			c.Changed = append(c.Changed, s.Key)
		case !reflect.DeepEqual(was.Tools, s.Tools):
			c.Filtered = append(c.Filtered, s.Key)
		default:
			c.Unchanged = append(c.Unchanged, s.Key)
		}
	}
	for i := range old.Servers {
		if key := old.Servers[i].Key; now.Server(key) == nil {
			c.Removed = append(c.Removed, key)
		}
	}
	c.Profiles = !reflect.DeepEqual(old.Profiles, now.Profiles) || !reflect.DeepEqual(old.Tokens, now.Tokens)
	return c
}

// Loses reports whether a new version of a file misses something, and lacks a server that could be used
// before: then a client's file is likely to be broken only for now.
func (f *File) Loses(old *File) bool {
	return len(f.Missing) > 0 && slices.ContainsFunc(old.Servers, func(was Server) bool {
		s := f.Server(was.Key)
		return was.origin.unusable == "" && (s == nil || s.origin.missing())
	})
}

// identity is equal only for servers that one process may be: everything but where they are written and
// which of their tools are listed. It has no secrets.
func (s *Server) identity() string {
	return fmt.Sprintf("%s %s %q %q %v %d %s", s.Spec.Fingerprint(), s.origin.written().Fingerprint(), s.Pending, s.Share, s.Idle, s.MaxInFlight, s.Lock)
}
