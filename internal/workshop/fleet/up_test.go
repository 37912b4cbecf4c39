package fleet

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// upThere is a file of gauze up in the home of a test.
type upThere struct {
	pending  map[string]string
	problems []clientconfig.Problem
	wrong    error // of every plan
	path     string
}

func (u *upThere) Read(f *Fleet) UpServers {
	return UpServers{Config: f.Home.Read(f.Home.Up(u.path)), Pending: u.pending, Problems: u.problems}
}

func (u *upThere) Add(f *Fleet, s NewServer) (*clientconfig.Config, []byte, error) {
	c := f.Home.Read(f.Home.Up(u.path))
	return c, append(slices.Clone(c.Text), "  "+s.Name+": {command: ["+s.Spec.Command+"]}\n"...), nil
}

func (u *upThere) Check(*Fleet, Plan) error { return u.wrong }

// withUp returns a home with a file of gauze up and a client that has gauze connect.
func withUp(t *testing.T) (*home, *upThere) {
	h := newHome(t)
	h.write(".config/gauze/up.yaml", "# mine\nservers:\n  notes: {command: [sh, -c, exit 1]}  # plain\n  only:\n    command: [sh]\n")
	h.write(".cursor/mcp.json", `{"mcpServers": {"all": {"command": "/usr/bin/gauze", "args": ["connect"]}, "notes": {"command": "npx"}}}`)
	up := &upThere{path: h.dir + "/.config/gauze/up.yaml"}
	h.fleet.Up = up
	return h, up
}

func ids(all []*Server) string {
	var names []string
	for _, s := range all {
		names = append(names, s.ID())
	}
	return strings.Join(names, " ")
}

func TestServersOfUpAreAmongTheOthers(t *testing.T) {
	h, _ := withUp(t)
	cursor, _ := clientconfig.ByID("cursor")
	for clients, want := range map[string]string{
		"":       "claude-code/notes claude-code/shared codex/time cursor/all cursor/notes gauze/notes gauze/only goose/clock goose/developer",
		"gauze":  "gauze/notes gauze/only",
		"cursor": "cursor/all cursor/notes",
	} {
		chosen, err := Clients(strings.Fields(clients))
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(h.fleet.Look(chosen...).Servers); got != want {
			t.Errorf("%q: got  %s\nwant %s", clients, got, want)
		}
	}
	view := h.fleet.Look()
	for name, want := range map[string]string{"notes": "claude-code/notes cursor/notes gauze/notes", "gauze/notes": "gauze/notes", "only": "gauze/only"} {
		if got, err := view.Choose(Choice{Names: []string{name}}); err != nil || ids(got) != want {
			t.Errorf("%s: %s, %v", name, ids(got), err)
		}
	}
	if _, err := view.Use("notes", nil); err == nil || !strings.Contains(err.Error(), "use CLIENT/NAME") {
		t.Errorf("%v", err)
	}
	h.fleet.Up = nil
	if got := ids(h.fleet.Look(cursor).Servers) + ids(h.fleet.Look().Servers); strings.Contains(got, "gauze/") {
		t.Error(got)
	}
}

func TestAServerOfUpWaitsForItsUser(t *testing.T) {
	h, up := withUp(t)
	up.pending = map[string]string{"only": "You have not confirmed it: gauze up --confirm only"}
	s, err := h.fleet.Look().Choose(Choice{Names: []string{"only"}})
	if err != nil {
		t.Fatal(err)
	}
	c := h.fleet.Check(t.Context(), s, CheckOptions{})[0]
	if v := c.Verdict(); c.Tried || v.State != Untried || v.Cause != up.pending["only"] || !slices.Contains(s[0].Standing(), "waits for your confirmation") {
		t.Errorf("%+v, %v", v, s[0].Standing())
	}
}

func TestTheEntryOfConnectIsNoMystery(t *testing.T) {
	h, _ := withUp(t)
	s := h.fleet.Look().Named("all")
	if !slices.Contains(s.Standing(), ForUp) {
		t.Error(s.Standing())
	}
	c := &Checked{Server: s, Tried: true, Report: doctor.Report{Healthy: true}, Attempt: probe.Result{}}
	if v := c.Verdict(); !strings.HasPrefix(v.Cause, "0 tools of the servers of gauze up, ") {
		t.Errorf("%+v", v)
	}
	c.Attempt.Found.Toolless = true
	if v := c.Verdict(); v.State != Warned || v.Cause != ToollessUp {
		t.Errorf("%+v", v)
	}
}

func TestPlansForServersOfUp(t *testing.T) {
	h, up := withUp(t)
	view := h.fleet.Look()
	s, _ := view.Choose(Choice{Names: []string{"gauze/notes"}})
	for _, plan := range []Plan{view.Wrap(s, true), view.Unwrap(s)} {
		if !plan.Empty() || len(plan.Skipped) != 1 || !strings.HasPrefix(plan.Skipped[0].Why, "gauze up ") {
			t.Errorf("%+v", plan)
		}
	}
	healed := &Checked{Server: s[0], Tried: true, Report: doctor.Report{
		Healthy: true, Steps: []doctor.Step{{Result: doctor.Healed, About: "it uses the full path"}}, Spec: launch.Spec{Command: "/bin/sh"},
	}}
	if v := healed.Verdict(); v.State != Works || v.Cause != "with a fix that gauze up applies: it uses the full path" {
		t.Errorf("%+v", v)
	}
	if plan := view.FixAndKeep([]*Checked{healed}, false, WithReview); !plan.Empty() {
		t.Error(plan.Diff())
	}
	plan := view.Remove(s)
	up.wrong = errors.New("a profile names it")
	if _, err := h.fleet.Apply(plan, plan.Consent()); !errors.Is(err, up.wrong) {
		t.Errorf("%v", err)
	}
	up.wrong = nil
	h.apply(plan)
	if got := h.read(".config/gauze/up.yaml"); got != "# mine\nservers:\n  only:\n    command: [sh]\n" {
		t.Errorf("%q", got)
	}
	clients, _ := Clients([]string{"gauze"})
	plan, err := h.fleet.Look(clients...).AddForAll(NewServer{Name: "new", Spec: launch.Spec{Command: "x"}}, clients)
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Path != up.path || len(plan.Notes()) > 0 {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestAnErrorInTheFileOfUp(t *testing.T) {
	h, up := withUp(t)
	up.problems = []clientconfig.Problem{h.fleet.Home.Up(up.path).UpProblem(clientconfig.Error, 3, 1, "a is wrong")}
	health := h.fleet.Look().Health(nil, true)
	if !health.HasBroken() || len(health.Groups()) != 1 || health.Groups()[0].Files[0].Cause != "a is wrong (line 3)" {
		t.Errorf("%+v", health)
	}
}
