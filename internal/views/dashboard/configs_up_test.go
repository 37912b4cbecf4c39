package dashboard

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// ofUp is a file of gauze up with an include that is missing.
type ofUp struct {
	fleet.UpFile
	path string
}

func (u ofUp) Read(f *fleet.Fleet) fleet.UpServers {
	c := f.Home.Read(f.Home.Up(u.path))
	return fleet.UpServers{Config: c, Problems: []clientconfig.Problem{c.UpProblem(clientconfig.Warning, 1, 1, "cannot include gone.json")}}
}

func TestConfigsShowTheServersOfGauzeUp(t *testing.T) {
	s := newSite(t)
	clients := s.d.Fleet
	s.d.Fleet = func() (*fleet.Fleet, error) {
		f, err := clients()
		f.Up = ofUp{path: s.path("up.yaml")}
		return f, err
	}
	s.write("up.yaml", "include: [gone.json]\nservers:\n  late: {command: [no-such-program]}\n")
	s.write(".cursor/mcp.json", `{"mcpServers": {"all": {"command": "gauze", "args": ["connect"]}}}`)
	has(t, s.get("/configs", 200), "gauze up", "late", "up.yaml:3", "cannot include gone.json (line 1)", fleet.ForUp)
	link := s.link("late")
	s.post(link+"/check", 303)
	has(t, s.checked(link), "no-such-program is not on the client")
}
