package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// Choice selects servers by name, by client, or all of them.
type Choice struct {
	Names    []string // NAME or CLIENT/NAME
	Clients  []string // client ids; empty for all clients
	All      bool
	Optional []string // those of Names that need not exist
}

// NotFoundError reports a server name that no client has.
type NotFoundError struct {
	Name string
	Near []string // similar names, cleaned for display
	Have []string // some of the existing names

	Mistake string // if there are none: the first mistake in a file for which its client rejects servers, with its place
	File    string // that file
}

func (e *NotFoundError) Error() string {
	switch {
	case len(e.Near) > 0:
		return fmt.Sprintf("no server named %q; did you mean %s?", redact.Quote(e.Name), alternatives(e.Near))
	case len(e.Have) > 0:
		return fmt.Sprintf("no server named %q; configured servers include %s (to see all: gauze list)", redact.Quote(e.Name), strings.Join(e.Have, ", "))
	}
	if e.Mistake != "" {
		return fmt.Sprintf("no server named %q: %s; to see what to do: gauze doctor", redact.Quote(e.Name), e.Mistake)
	}
	return fmt.Sprintf("no server named %q: no servers are configured; to see where gauze looked: gauze list", redact.Quote(e.Name))
}

// Choose returns the selected servers. A name that no client has is an error; a name that several
// clients have selects all of them.
func (v *View) Choose(c Choice) ([]*Server, error) {
	if _, err := Clients(c.Clients); err != nil {
		return nil, err
	}
	var all []*Server
	for _, s := range v.Servers {
		if len(c.Clients) == 0 || slices.Contains(c.Clients, s.Client.ID) {
			all = append(all, s)
		}
	}
	if c.All || len(c.Names) == 0 {
		return all, nil
	}
	var chosen []*Server
	for _, name := range c.Names {
		found := false
		for _, s := range all {
			if s.Name == name || s.ID() == name {
				found = true
				if !slices.Contains(chosen, s) {
					chosen = append(chosen, s)
				}
			}
		}
		if !found && !slices.Contains(c.Optional, name) {
			e := notFound(name, all)
			if len(all) == 0 {
				e.File, e.Mistake = v.mistake(c.Clients)
			}
			return nil, e
		}
	}
	return chosen, nil
}

// mistake returns the first mistake in a file of these clients for which its client rejects servers, and the file.
func (v *View) mistake(clients []string) (path, what string) {
	for _, p := range v.Problems {
		if file := ofFile(p); file.State == Broken && (len(clients) == 0 || slices.Contains(clients, p.Client.ID)) {
			return p.File, plaintext.Clean(file.File) + ": " + redact.Passage(file.Cause)
		}
	}
	return "", ""
}

func notFound(name string, all []*Server) *NotFoundError {
	e := &NotFoundError{Name: name}
	for _, s := range all {
		if id := s.Client.ID + "/" + s.shown(); strings.Contains(name, "/") && near(name, s.ID()) && len(e.Near) < 3 && !slices.Contains(e.Near, id) {
			e.Near = append(e.Near, id)
		}
	}
	if len(e.Near) > 0 {
		return e
	}
	for _, s := range all {
		shown := s.shown()
		if near(name, s.Name) && len(e.Near) < 3 && !slices.Contains(e.Near, shown) {
			e.Near = append(e.Near, shown)
		}
		if len(e.Have) < 8 && !slices.Contains(e.Have, shown) {
			e.Have = append(e.Have, shown)
		}
	}
	return e
}

// alternatives joins quoted names with "or".
func alternatives(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, " or ")
}

// near reports whether two names differ by a letter or two, or one contains the other.
func near(a, b string) bool {
	if len(a) > 200 || len(b) > 200 { // too long for a typing mistake
		return false
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) > 2 && len(b) > 2 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return true
	}
	return 2*plaintext.Distance(a, b) < min(len(a), len(b), 6)
}

// Clients returns the clients with these ids.
func Clients(ids []string) (all []*clientconfig.Client, err error) {
	for _, id := range ids {
		c, ok := clientconfig.ByID(id)
		if !ok {
			return nil, unknownClient(id)
		}
		all = append(all, c)
	}
	return all, nil
}

func unknownClient(id string) error {
	var nearest, known []string
	for _, c := range clientconfig.Clients() {
		known = append(known, c.ID)
		if near(id, c.ID) || near(id, c.Name) {
			nearest = append(nearest, c.ID)
		}
	}
	if len(nearest) > 0 {
		return fmt.Errorf("no client named %q; did you mean %s?", redact.Quote(id), alternatives(nearest))
	}
	return fmt.Errorf("no client named %q; known clients are %s", redact.Quote(id), strings.Join(known, ", "))
}
