package fleet

import (
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// Thing returns the server's entry as a person sees it before it is used: how it is started or reached
// as its file says, with all else in it that may matter, in its project.
func (s *Server) Thing() trust.Thing {
	return trust.Thing{Kind: trust.ServerEntry, Where: s.Config.Home.Project, Bytes: s.Written().Fingerprint()}
}

// Foreign reports whether the entry comes with a project and it has not been seen as it is now. A project
// can also bring a file that is meant for one person. The approval of a client does not count: it is for
// a name, whatever the entry contains today.
func (s *Server) Foreign() bool {
	return s.Config.InProject() && !s.view.fleet.Seen.Seen(s.Thing())
}

// Agreed remembers that a person has seen the Whole of the entry and agreed that it is used.
func (s *Server) Agreed() { s.view.fleet.Seen.Agreed(s.Thing(), s.ID()+" in "+s.Config.Home.Project) }

// SawPlan remembers a project's entries as a plan made them, if the user had seen them before:
// the user who confirmed the plan has seen the rest. An entry is the one at the same place of the file.
func (f *Fleet) SawPlan(p Plan, made []backup.Entry) {
	for _, c := range p.Changes {
		if !c.file.InProject() || !slices.ContainsFunc(made, func(e backup.Entry) bool { return e.Path == c.Path }) {
			continue
		}
		before := f.view([]*clientconfig.Config{c.file}).byPlace()
		for place, now := range f.view([]*clientconfig.Config{c.file.Home.ReadText(c.file.File, c.New)}).byPlace() {
			if was := before[place]; len(was) == 1 && len(now) == 1 && !was[0].Foreign() {
				now[0].Agreed()
			}
		}
	}
}

// byPlace returns the servers by where they are in their file.
func (v *View) byPlace() map[string][]*Server {
	all := map[string][]*Server{}
	for _, s := range v.Servers {
		place := fmt.Sprintf("%q %q", s.Path, s.Name)
		all[place] = append(all[place], s)
	}
	return all
}
