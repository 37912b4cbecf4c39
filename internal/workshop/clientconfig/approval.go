package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// approvals is where a client stores which of a project's servers the user approved or rejected.
type approvals struct {
	State                 string   // its own file, with the answers for each project
	Settings              string   // the user's settings
	Project               []string // settings that may come with the project
	Trusted, All, Yes, No string   // the fields: the user trusts the directory; all servers, or the names of some
	Again, First          string   // how to approve a server after it was rejected, and before
}

// approval reports a project's server that the client does not start without approval.
func (l entryLinter) approval() {
	a := l.c.Client.Approvals
	if a == nil || l.c.Place.Scope != Project {
		return
	}
	if l.answers == nil {
		l.answers = a.read(l.c.Home)
	}
	switch said := l.answers; {
	case slices.Contains(said.no, l.e.Name):
		l.report("not-approved", l.outer, "this project server was rejected in "+l.client, a.Again)
	case !said.all && !slices.Contains(said.yes, l.e.Name):
		l.report("not-approved", l.outer, "this project server is not yet approved in "+l.client, a.First)
	}
}

// answers are the user's approvals and rejections of a project's servers.
type answers struct {
	all     bool
	yes, no []string
}

// read reads the answers. An approval that could have come with the project counts only in a directory
// that the user trusts: otherwise the project's author could approve it. A rejection always counts.
func (a *approvals) read(h Home) *answers {
	said, trusted := &answers{}, false
	for _, name := range slices.Concat([]string{a.State, a.Settings}, a.Project) {
		d := h.noted(name)
		if d == nil {
			continue
		}
		n := d.Root()
		if name == a.State {
			inState, ok := d.At("projects", h.Project)
			if !ok {
				inState, ok = d.At("projects", strings.ReplaceAll(h.Project, `\`, "/"))
			}
			if !ok {
				continue
			}
			n, trusted = inState, isTrue(inState, a.Trusted)
		}
		said.no = append(said.no, words(mustMember(n, a.No))...)
		if name == a.Settings || trusted {
			said.all, said.yes = said.all || isTrue(n, a.All), append(said.yes, words(mustMember(n, a.Yes))...)
		}
	}
	return said
}

// noted returns a file in which a client stores something, or nil.
func (h Home) noted(name string) *splice.Document {
	where, ok := h.resolve(name, h.Project)
	if f := h.look(where, nil, Place{}); !ok || !f.Exists || f.Err != nil {
		return nil
	}
	file, err := h.disk().ReadFile(where)
	if err != nil {
		return nil
	}
	d, _ := splice.Parse(splice.JSONC, file)
	return d
}

func isTrue(n splice.Node, field string) bool {
	value, _ := boolean(mustMember(n, field))
	return value
}
