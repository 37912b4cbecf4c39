package fleet

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// LookAt reads one file with servers, of a client or in the form that most clients share. A file in a
// repository that no client has counts as a project's.
func (f *Fleet) LookAt(path string) (*View, error) {
	path = filepath.Clean(path)
	configs := f.home().ReadServers(path, f.InRepository)
	for _, c := range configs {
		switch why := c.Unread(); {
		case !c.Exists:
			return nil, errors.New("the file does not exist")
		case why != "":
			return nil, errors.New(why)
		case c.Strict != nil && len(c.Entries) == 0:
			return nil, fmt.Errorf("the file cannot be parsed: %s", redact.Quote(c.Strict.Error()))
		case !c.HasServers():
			return nil, fmt.Errorf("the file has no %s", c.Place.Keys[0][0])
		}
	}
	return f.view(configs), nil
}

// Named returns the server with this name. Of servers with the same name, the user's own counts, not a
// project's, and one that its client reads and starts. nil: there is none.
func (v *View) Named(name string) *Server {
	var found *Server
	for _, s := range v.Servers {
		if s.Name == name && (found == nil || s.rank() < found.rank()) {
			found = s
		}
	}
	return found
}

// rank orders servers with the same name, the one that counts first: as Use does, then as the client
// does.
func (s *Server) rank() int {
	rank := slices.Index(s.Client.Precedence, s.Scope) // -1 for all if it is not known
	if s.Disabled || s.Config.Place.Old != "" {
		rank += 100
	}
	if s.Config.InProject() {
		rank += 1000
	}
	return rank
}
