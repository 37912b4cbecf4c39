package fleet

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// The user is asked about what a file can say: what was tested is what is written, in the entry's own words.
func TestWhatAnEntryCanExpress(t *testing.T) {
	written := launch.Spec{Command: "uvx", Args: []string{"notes", "--dir", "${HOME}/x"}, Env: []string{"A=${A}"}}
	before := launch.Spec{Command: "uvx", Args: []string{"notes", "--dir", "/home/me/x"}, Env: []string{"A=1"}}
	for name, test := range map[string]struct {
		now  launch.Spec
		want []string // command and arguments; nil if it cannot be expressed
	}{
		"another program":      {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/x"}, Env: before.Env}, []string{"/bin/notes", "--dir", "${HOME}/x"}},
		"a different argument": {launch.Spec{Command: "uvx", Args: []string{"other", "--dir", "/home/me/x"}, Env: before.Env}, []string{"uvx", "other", "--dir", "${HOME}/x"}},
		"fewer arguments":      {launch.Spec{Command: "uvx", Args: []string{"--dir", "/home/me/x"}, Env: before.Env}, nil},
		"other arguments":      {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/y"}, Env: before.Env}, nil},
		"a variable as well":   {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/x"}, Env: []string{"A=2"}}, nil},
		"a directory as well":  {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/x"}, Env: before.Env, Dir: "/x"}, nil},
	} {
		var got []string
		agree := agreeing(written, before, func(o Offer) bool {
			got = append([]string{o.Spec.Command}, o.Spec.Args...)
			return slices.Equal(o.Spec.Env, written.Env)
		})
		if asked := agree(doctor.Fix{}, test.now); asked != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%s: asked about %q, want %q", name, got, test.want)
		}
	}
}

// withServer returns a home in which a client has one server, as if that had been tested. It returns nil if the client
// has no file of its own.
func withServer(t *testing.T, client *clientconfig.Client, s NewServer) (*home, *View, *Checked) {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	there := clientconfig.Home{OS: "linux", Home: h.dir, Project: filepath.Join(h.dir, "project"), Environ: []string{"HOME=" + h.dir}}
	h.fleet = &Fleet{Home: there, Store: backup.Store{Dir: filepath.Join(h.dir, "state")}, Gauze: "/usr/bin/gauze"}
	plan, err := h.fleet.Look(client).Add(s, []*clientconfig.Client{client})
	if err != nil || plan.Empty() {
		return nil, nil, nil
	}
	h.apply(plan)
	view := h.fleet.Look(client)
	c := Unchecked(view.Servers)[0]
	c.Tried, c.started = true, c.Real()
	return h, view, c
}

// A URL that the user agreed to replaces the command in every client's own form, also of a server that
// runs through gauze, and the plan says that nothing starts the server then.
func TestAURLReplacesACommandInEveryClient(t *testing.T) {
	const address = "http://127.0.0.1:8000/mcp"
	for _, wrapped := range []bool{false, true} {
		for _, client := range clientconfig.Clients() {
			spec := launch.Spec{Command: "python3", Args: []string{"server.py"}, Env: []string{"MODE=x"}}
			h, view, c := withServer(t, client, NewServer{Name: "notes", Spec: spec, Wrapped: wrapped})
			if h == nil {
				continue
			}
			c.Report = doctor.Report{Healthy: true, Spec: launch.Spec{URL: address}, Steps: []doctor.Step{{Result: doctor.Healed, Agreed: true, Next: "x"}}}
			c.Attempt.Found.Transport = "http"
			plan := view.Keep([]*Checked{c})
			if plan.Empty() || len(plan.Skipped) > 0 || len(plan.Notes()) != 1 || !strings.Contains(plan.Notes()[0], "python3 server.py") {
				t.Errorf("%s, wrapped %v: %+v, %q", client.ID, wrapped, plan.Skipped, plan.Notes())
				continue
			}
			if both := view.FixAndKeep([]*Checked{c}, false, WithReview); both.Diff() != plan.Diff() {
				t.Errorf("%s: doctor --fix writes\n%s\nand heal_server\n%s", client.ID, both.Diff(), plan.Diff())
			}
			h.apply(plan)
			now := h.fleet.Look(client).Servers
			if len(now) != 1 || now[0].Real().URL != address || len(now[0].Errors()) > 0 || wrapped != now[0].Wrapped && !now[0].Wrapped {
				t.Errorf("%s, wrapped %v: %s\n%+v", client.ID, wrapped, plan.Diff(), now)
			}
		}
	}
}

// An installed program replaces its missing runner in every client's own form, also if the package was
// the only argument.
func TestAProgramReplacesItsRunnerInEveryClient(t *testing.T) {
	for _, more := range [][]string{nil, {"--verbose"}} {
		for _, client := range clientconfig.Clients() {
			spec := launch.Spec{Command: "uvx", Args: append([]string{"notes-mcp"}, more...)}
			h, view, c := withServer(t, client, NewServer{Name: "notes", Spec: spec})
			if h == nil {
				continue
			}
			c.started.Env = []string{"A=1", "B=2"}
			now := c.started
			now.Command, now.Args, now.Env = "/home/me/bin/notes-mcp", more, []string{"B=2", "A=1"} // in a different order
			c.Report = doctor.Report{Healthy: true, Spec: now, Steps: []doctor.Step{{Result: doctor.Healed, Agreed: true, Next: "x"}}}
			plan := view.Keep([]*Checked{c})
			if plan.Empty() || len(plan.Skipped) > 0 {
				t.Errorf("%s, %q: %+v", client.ID, more, plan.Skipped)
				continue
			}
			h.apply(plan)
			if got := h.fleet.Look(client).Servers[0].Real(); got.Command != now.Command || !slices.Equal(got.Args, more) {
				t.Errorf("%s: %s %q, want %q\n%s", client.ID, got.Command, got.Args, more, plan.Diff())
			}
		}
	}
}

// A command line in one string is split in every client's own form, by doctor --fix and heal_server alike.
func TestACommandLineIsSplitInEveryClient(t *testing.T) {
	for _, client := range clientconfig.Clients() {
		h, view, c := withServer(t, client, NewServer{Name: "notes", Spec: launch.Spec{Command: "notes-mcp --stdio", Args: []string{"x"}}})
		if h == nil {
			continue
		}
		now := c.started
		now.Command, now.Args = "notes-mcp", []string{"--stdio", "x"}
		c.Report = doctor.Report{Healthy: true, Spec: now, Steps: []doctor.Step{{Result: doctor.Healed, Next: "x"}}}
		plan := view.Keep([]*Checked{c})
		if both := view.FixAndKeep([]*Checked{c}, false, WithReview); both.Diff() != plan.Diff() {
			t.Errorf("%s: doctor --fix writes\n%s\nand heal_server\n%s", client.ID, both.Diff(), plan.Diff())
		}
		h.apply(plan)
		if got := h.fleet.Look(client).Servers[0]; got.Wrapped || got.Real().Command != now.Command || !slices.Equal(got.Real().Args, now.Args) {
			t.Errorf("%s: %s %q\n%s", client.ID, got.Real().Command, got.Real().Args, plan.Diff())
		}
	}
}

// An entry that was mended is not reported as one that needs a manual fix.
func TestAMendedEntryIsNotLeftOut(t *testing.T) {
	h := &home{t: t, dir: t.TempDir()}
	h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "/usr/bin/gauze run -- npx -y notes-mcp"}}}`)
	h.fleet = &Fleet{Home: clientconfig.Home{OS: "linux", Home: h.dir, Environ: []string{"HOME=" + h.dir}},
		Store: backup.Store{Dir: filepath.Join(h.dir, "state")}, Gauze: "/usr/bin/gauze"}
	view := h.fleet.Look()
	c := Unchecked(view.Servers)[0]
	c.Tried, c.started = true, c.Real()
	c.Report = doctor.Report{Healthy: true, Spec: launch.Spec{Command: "/usr/bin/gauze", Args: []string{"run", "--", "npx", "-y", "notes-mcp"}}, Steps: []doctor.Step{{Result: doctor.Healed, Next: "x"}}}
	if plan := view.FixAndKeep([]*Checked{c}, false, WithReview); plan.Empty() || len(plan.Skipped) > 0 {
		t.Errorf("%+v\n%s", plan.Skipped, plan.Diff())
	}
}

// A path that was split at a space is joined in the entry of every client, without gauze run.
func TestASplitPathIsJoinedInTheEntry(t *testing.T) {
	for _, client := range clientconfig.Clients() {
		spec := launch.Spec{Command: "python3", Args: []string{"/srv/my", "notes/server.py", "-v"}, Env: []string{"MODE=x"}}
		h, view, c := withServer(t, client, NewServer{Name: "notes", Spec: spec})
		if h == nil {
			continue
		}
		healed := c.Real()
		healed.Args = []string{"/srv/my notes/server.py", "-v"}
		c.Report = doctor.Report{Healthy: true, Spec: healed, Steps: []doctor.Step{{Result: doctor.Healed, Next: "x"}}}
		h.apply(view.FixAndKeep([]*Checked{c}, false, WithReview))
		got := h.fleet.Look(client).Servers[0]
		if got.Wrapped || !slices.Equal(got.Real().Args, healed.Args) || got.Real().Command != "python3" {
			t.Errorf("%s: wrapped %v, %q", client.ID, got.Wrapped, got.Real().Args)
		}
	}
}
