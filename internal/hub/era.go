package hub

import (
	"os"
	"slices"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Unlisted is a server whose tools are not listed together with those of the others: it has only the version of the
// protocol without sessions, and others do not have it.
type Unlisted struct {
	Key     string
	Version string   // the only one that it has
	Paths   []string // where it is not listed
}

// UnlistedOf returns such servers of a file, by what servers have shown so far.
func UnlistedOf(file *upfile.File, kept proxy.Shelf) (all []Unlisted) {
	eras := map[string]proxy.Eras{}
	var keys []string
	for _, s := range file.Servers {
		if spec, err := s.At("", os.Environ()); err == nil && s.Pending == "" {
			eras[s.Key] = proxy.RecallEras(kept, spec)
		}
		keys = append(keys, s.Key)
	}
	lacks := func(key string) bool { e := eras[key]; return e.Sessions != nil && !*e.Sessions }
	older := func(key string) bool { e := eras[key]; return e.Modern != nil && !*e.Modern }
	for _, key := range slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !lacks(key) }) {
		var paths []string
		if slices.ContainsFunc(keys, older) {
			paths = append(paths, gateway.Path)
		}
		for _, p := range file.Profiles {
			if slices.Contains(p.Servers, key) && slices.ContainsFunc(p.Servers, older) {
				paths = append(paths, gateway.Path+"/p/"+p.Name)
			}
		}
		if paths != nil {
			all = append(all, Unlisted{key, wire.FirstModern, paths})
		}
	}
	return all
}
