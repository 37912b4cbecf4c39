package fleet

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
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
