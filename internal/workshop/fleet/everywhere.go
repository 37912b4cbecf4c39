package fleet

import (
	"errors"
	"os"
	"slices"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// LookEverywhere is like Look, and also reads the files that gauze has changed before, such as those
// of other projects, as far as a server in them is wrapped.
func (f *Fleet) LookEverywhere(clients ...*clientconfig.Client) *View {
	configs := f.read(clients)
	changes, err := f.Store.List()
	var unread []Skip
	for _, one := range unjoined(err) {
		unread = append(unread, Skip{Server: f.Store.Dir, Why: one.Error()})
	}
	seen := map[string]bool{}
	for _, e := range changes {
		if seen[e.Path] {
			continue
		}
		seen[e.Path] = true
		if f.isAway(e) {
			unread = append(unread, Skip{Server: string(f.Tilde(e.Path)), Why: awayWhy(e.Path)})
			continue
		}
		for _, c := range f.home().ReadAnywhere(e.Path, clients...) {
			if why := c.Unread(); why != "" {
				unread = append(unread, Skip{Server: string(f.Tilde(c.Path)), Why: why})
				break
			}
			switch {
			case slices.ContainsFunc(configs, func(other *clientconfig.Config) bool { return sameServers(c, other) }):
			case slices.ContainsFunc(c.Entries, func(e clientconfig.Entry) bool { return e.Unwraps() }):
				configs = append(configs, c)
			}
		}
	}
	v := f.view(configs)
	v.unread = unread
	return v
}

// sameServers reports whether two readings are of the same servers of the same file.
func sameServers(a, b *clientconfig.Config) bool {
	sameFile := a.Path == b.Path || a.Behind != nil && b.Behind != nil && os.SameFile(a.Behind, b.Behind)
	if !sameFile || len(a.Entries) != len(b.Entries) {
		return false
	}
	return slices.EqualFunc(a.Entries, b.Entries, func(a, b clientconfig.Entry) bool { return slices.Equal(a.Path, b.Path) })
}

// unjoined returns the parts of a joined error.
func unjoined(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		return joined.Unwrap()
	}
	return []error{err}
}
