package fleet

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Keep plans to have for good what healed servers when they were tried: gauze
// run in front, which finds the same way at every start, or the address that
// answered.
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
			return nil, clientconfig.Skipped("gauze run does the same at every start")
		case was.URL != "" && now.URL != was.URL:
			return c.Point(e, now.URL)
		}
		return c.Wrap(e, clientconfig.WrapOptions{Gauze: v.fleet.Gauze, Remote: true})
	})
}

// writeDown plans to write down what made a server work: the program by its whole
// path, the address that answers, the transport it speaks. A wrapped server
// needs none of it, gauze run finds it at every start.
func (v *View) writeDown(d *draft, c *Checked, allowed func(clientconfig.Problem) bool) {
	if !c.Tried || !c.Report.Healthy || c.Wrapped || len(c.healedBy()) == 0 && c.otherTransport() == "" {
		return
	}
	now := d.now(c.Config)
	i := slices.IndexFunc(now.Entries, func(e clientconfig.Entry) bool { return e.Name == c.Name }) // mending may have moved it
	if i < 0 {
		return
	}
	what := "it works only with help"
	if steps := c.healedBy(); len(steps) > 0 {
		what = steps[0].About
	}
	edit, ok := now.Healed(&now.Entries[i], lasting(upstream.Spec{}, c.Real(), c.Report.Spec, false), c.otherTransport())
	switch {
	case !ok:
		if steps := c.healedBy(); len(steps) > 0 && steps[0].Next != "" {
			d.skip(c.ID(), "it works only with help that is for a person to write down: "+c.hideValues(steps[0].Next))
		}
	case !allowed(clientconfig.Problem{File: c.File, Consent: clientconfig.Shown}):
		d.skip(c.ID(), strings.TrimSuffix(c.Hide(what), ".")+"; what is run or reached would change, so it needs a look at the diff")
	default:
		if err := d.edit(c.Config, c.ID(), clientconfig.Shown, "heal "+c.Name, edit); err != nil {
			d.skip(c.ID(), err.Error())
		}
	}
}
