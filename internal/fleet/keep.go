package fleet

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/launch"
)

// Keep plans to save the fixes that made servers work when they were tested: gauze run, which
// applies the same fix at every start, or the URL that responded.
func (v *View) Keep(all []*Checked) Plan {
	healed := map[*Server]*Checked{}
	var servers []*Server
	for _, c := range all {
		if c.Report.Healthy && len(c.Report.Steps) > 0 {
			healed[c.Server] = c
			servers = append(servers, c.Server)
		}
	}
	return v.each(servers, "heal", clientconfig.Shown, func(c *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, error) {
		i := slices.IndexFunc(servers, func(s *Server) bool { return s.File == e.File && slices.Equal(s.Path, e.Path) })
		was, now := servers[i].Real(), healed[servers[i]].Report.Spec
		switch {
		case e.Wrapped:
			return nil, clientconfig.Skipped("gauze run applies the same fix at every start")
		case was.URL != "" && now.URL != was.URL:
			return c.Point(e, now.URL)
		}
		return c.Wrap(e, clientconfig.WrapOptions{Gauze: v.fleet.Gauze, Remote: true})
	})
}

// writeDown plans to save what made a server work: the full path of the program, the URL that
// responded, or the transport. A wrapped server needs none of it, because gauze run finds it at
// every start.
func (v *View) writeDown(d *draft, c *Checked, allowed func(clientconfig.Problem) bool) {
	if !c.Tried || !c.Report.Healthy || c.Wrapped || len(c.healedBy()) == 0 && c.otherTransport() == "" {
		return
	}
	now := d.now(c.Config)
	i := slices.IndexFunc(now.Entries, func(e clientconfig.Entry) bool { return e.Name == c.Name }) // a fix may have moved it
	if i < 0 {
		return
	}
	what := "the server works only with a fix"
	if steps := c.healedBy(); len(steps) > 0 {
		what = steps[0].About
	}
	edit, ok := now.Healed(&now.Entries[i], lasting(launch.Spec{}, c.Real(), c.Report.Spec, false), c.otherTransport())
	switch {
	case !ok:
		if steps := c.healedBy(); len(steps) > 0 && steps[0].Next != "" {
			d.postpone(c.ID(), "the server works only with a manual fix: "+c.hideValues(steps[0].Next))
		}
	case !allowed(clientconfig.Problem{File: c.File, Consent: clientconfig.Shown}):
		d.postpone(c.ID(), strings.TrimSuffix(c.Hide(what), ".")+"; the fix changes what is run or reached, so the diff must be reviewed first")
	default:
		if err := d.edit(c.Config, c.ID(), clientconfig.Shown, "heal "+c.Name, edit); err != nil {
			d.skip(c.ID(), err.Error())
		}
	}
}
