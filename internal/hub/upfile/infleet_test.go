package upfile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// Other commands see the servers that the file itself describes, as gauze up starts or reaches them.
func TestReadInAFleet(t *testing.T) {
	p := newPerson(t, "KEY=value")
	p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "notes"}, "time": {"command": "time"}}}`)
	path := p.write("up.yaml", `
include: [cursor, ./gone.json]
servers:
  short: cursor/notes
  given:
    command: [given]
    cwd: sub
    env: {A: "${KEY}", B: "$${KEY}", C: 80}
  far: {url: "https://example.com/mcp", login: work}
  other: {from: cursor/time}
tokens:
  ci: {env: NO_TOKEN}
`)
	p.fleet.Up = InFleet(path)
	up := p.fleet.Up.Read(p.fleet)
	var got []string
	for _, e := range up.Config.Entries {
		got = append(got, p.shown(strings.Join([]string{e.Name, e.Spec.Command + e.Spec.URL, e.Spec.Dir, e.Spec.Login.Account}, " ")))
	}
	if want := "given given HOME/sub ,far https://example.com/mcp  work"; strings.Join(got, ",") != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	given := up.Config.Entry("given")
	if env := strings.Join(given.Spec.Env, " "); given.Line != 5 || !strings.HasSuffix(env, "A=value B=${KEY} C=80") {
		t.Errorf("%d %q", given.Line, env)
	}
	var problems []string
	for _, one := range up.Problems {
		problems = append(problems, string(one.Code)+" "+one.Severity.String()+" "+one.What)
	}
	if all := strings.Join(problems, "\n"); len(problems) != 2 || !strings.HasPrefix(all, "not-readable warning include[1]: cannot include ./gone.json: ") || !strings.Contains(all, "NO_TOKEN is not set") {
		t.Errorf("%s", all)
	}
	view := p.fleet.Look()
	if s := view.Named("far"); s == nil || s.ID() != "gauze/far" || len(view.Named("given").Problems) > 0 || view.Named("short") != nil {
		t.Errorf("%+v", view.Servers)
	}
	plan := view.Remove([]*fleet.Server{view.Named("far")})
	if len(plan.Changes) != 1 || !strings.Contains(plan.Diff(), "\n-  far:") || strings.Count(plan.Diff(), "\n-") != 1 {
		t.Errorf("%+v\n%s", plan.Skipped, plan.Diff())
	}
}

func TestReadInAFleetWhatCannotBeUsed(t *testing.T) {
	p := newPerson(t)
	p.fleet.Up = InFleet(filepath.Join(p.dir, "up.yaml"))
	if up := p.fleet.Up.Read(p.fleet); up.Config != nil || len(up.Problems) > 0 {
		t.Errorf("without a file: %+v", up)
	}
	for text, line := range map[string]int{
		"servers:\n  a: {comand: [x]}\n": 2, "servers: {a: [\n": 1, "": 1, "include: [gauze]\n": 1, "- x\n": 1, "servers: {a: {command: [x]}, a: {command: [y]}}\n": 1,
	} {
		p.write("up.yaml", text)
		up := p.fleet.Up.Read(p.fleet)
		if up.Config != nil || len(up.Problems) == 0 || up.Problems[0].Severity != clientconfig.Error || up.Problems[0].Line != line {
			t.Errorf("%q: %+v", text, up.Problems)
		}
		if view := p.fleet.Look(); len(view.Problems) != len(up.Problems) || len(view.Servers) > 0 {
			t.Errorf("%q: %+v", text, view.Problems)
		}
	}
	p.write("project/.git/HEAD", "")
	p.fleet.Up = InFleet(p.write("project/up.yaml", "servers: {theirs: {command: [theirs]}}\n"))
	up := p.fleet.Up.Read(p.fleet)
	if why := up.Pending["theirs"]; len(up.Config.Entries) != 1 || !strings.Contains(why, "gauze up --confirm theirs") {
		t.Errorf("%q, %+v", why, up.Config.Entries)
	}
}
