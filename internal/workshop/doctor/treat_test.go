package doctor

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// patient is a server that needs its fixes in order and shows a failure until it has them.
type patient struct {
	wants  []string         // names of the fixes it needs
	sick   map[string]Case  // by how many fixes it has
	probes []string         // what it was probed with
	offers map[string][]Fix // by cause
}

func adding(name string, risk Risk) Fix {
	return Fix{Name: name, Risk: risk, About: "adds " + name, Next: "add " + name + " yourself", Apply: func(s launch.Spec) launch.Spec {
		s.Args = append(slices.Clone(s.Args), name)
		return s
	}}
}

func (p *patient) probe(_ context.Context, s launch.Spec, _ time.Duration) Seen {
	p.probes = append(p.probes, s.String())
	for i, want := range p.wants {
		if !slices.Contains(s.Args, want) {
			return Seen{Case: p.sick[p.wants[i]]}
		}
	}
	return Seen{Healthy: true}
}

var (
	sickOfPath  = Case{Command: []string{"npx"}, Spawn: Spawn{Errno: "ENOENT", Path: "npx", Of: "command"}}
	sickOfToken = Case{Command: []string{"npx"}, Stage: Started, Exit: Exit{Known: true, Code: 1}, Stderr: "Error: EXAMPLE_TOKEN environment variable is required"}
)

func treat(t *testing.T, p *patient, allow Risk) Report {
	t.Helper()
	fixes := func(d Diagnosis, _ Case, _ launch.Spec) []Fix { return p.offers[d.Cause] }
	return Treat(t.Context(), launch.Spec{Command: "npx"}, Treatment{Allow: allow, Probe: p.probe, Fixes: fixes})
}

func TestTreatFixesOneThingAfterTheOther(t *testing.T) {
	first, second := Diagnose(sickOfPath).Cause, Diagnose(sickOfToken).Cause
	p := &patient{wants: []string{"path", "token"}, sick: map[string]Case{"path": sickOfPath, "token": sickOfToken},
		offers: map[string][]Fix{first: {adding("wrong", Runtime), adding("path", Runtime)}, second: {adding("token", Runtime)}}}
	report := treat(t, p, Runtime)
	var results []string
	for _, step := range report.Steps {
		results = append(results, step.Fix+" "+step.Result)
	}
	if !report.Healthy || !slices.Equal(results, []string{"wrong undone", "path helped", "token healed"}) {
		t.Errorf("%v %v", report.Healthy, results)
	}
	if !slices.Equal(report.Spec.Args, []string{"path", "token"}) {
		t.Errorf("what did not help was kept: %v", report.Spec.Args)
	}
}

func TestTreatTriesNothingThatNeedsAPerson(t *testing.T) {
	cause := Diagnose(sickOfToken).Cause
	p := &patient{wants: []string{"token"}, sick: map[string]Case{"token": sickOfToken}, offers: map[string][]Fix{cause: {adding("token", Secret)}}}
	report := treat(t, p, Config)
	if report.Healthy || len(report.Steps) > 0 || len(p.probes) != 1 || report.Todo != "add token yourself" || report.Diagnosis.Cause != cause {
		t.Errorf("%+v", report)
	}
}

func TestTreatIsBounded(t *testing.T) {
	cause := Diagnose(sickOfPath).Cause
	p := &patient{wants: []string{"none"}, sick: map[string]Case{"none": sickOfPath}, offers: map[string][]Fix{
		cause: {adding("a", Runtime), adding("b", Runtime), adding("c", Runtime), adding("d", Runtime)}}}
	if report := treat(t, p, Runtime); len(report.Steps) != 3 || len(p.probes) != 4 || report.Spec.Args != nil || report.Todo == "" {
		t.Errorf("%+v", report)
	}
	// Nothing is tried twice for the same cause.
	p = &patient{wants: []string{"none"}, sick: map[string]Case{"none": sickOfPath}, offers: map[string][]Fix{cause: {adding("a", Runtime)}}}
	if report := treat(t, p, Runtime); len(report.Steps) != 1 {
		t.Errorf("%+v", report)
	}
}

// The attempts of a healer that tries one fix after the other and probes again. Where gauze differs,
// the row says why.
func TestTreatmentsThatHealersTry(t *testing.T) {
	cause := Diagnose(sickOfPath).Cause
	for _, c := range []struct {
		name     string
		attempts int      // maximum
		risk     Risk     // of the fixes
		wants    string   // the fix that helps
		offers   []string // the fixes
		fixed    bool
		tries    int // of the healer
		steps    int
		why      string // the number of tries differs
	}{
		{"the first fix helps", 3, Runtime, "a", []string{"a", "b", "c"}, true, 1, 1, ""},
		{"the second fix helps", 3, Runtime, "b", []string{"a", "b", "c"}, true, 2, 2, ""},
		{"no fix helps", 2, Runtime, "c", []string{"a", "b", "c"}, false, 2, 2, ""},
		{"a person is needed", 3, Secret, "a", []string{"a"}, false, 1, 0, "what is not tried is not an attempt"},
		{"the default", 0, Runtime, "none", []string{"a", "b", "c", "d"}, false, 2, 3, "three attempts by default: a wrong guess is undone"},
	} {
		p := &patient{wants: []string{c.wants}, sick: map[string]Case{c.wants: sickOfPath}, offers: map[string][]Fix{}}
		for _, name := range c.offers {
			p.offers[cause] = append(p.offers[cause], adding(name, c.risk))
		}
		report := Treat(t.Context(), launch.Spec{Command: "npx"}, Treatment{Attempts: c.attempts, Allow: Runtime, Probe: p.probe,
			Fixes: func(d Diagnosis, _ Case, _ launch.Spec) []Fix { return p.offers[d.Cause] }})
		if report.Healthy != c.fixed || len(report.Steps) != c.steps || len(p.probes) != 1+c.steps || (report.Todo == "") != c.fixed {
			t.Errorf("%s: %+v after %d probes", c.name, report, len(p.probes))
		}
		if (c.tries == c.steps) != (c.why == "") {
			t.Errorf("%s: the healer tries %d fixes, gauze %d: %q", c.name, c.tries, c.steps, c.why)
		}
	}
}

func TestAHealthyServerIsLeftAlone(t *testing.T) {
	p := &patient{}
	if report := treat(t, p, Person); !report.Healthy || len(report.Steps) > 0 || len(p.probes) != 1 {
		t.Errorf("%+v", report)
	}
}

// A different address is right only if the server responds there or asks for credentials.
func TestAGuessIsKeptOnlyIfItWasRight(t *testing.T) {
	lost := Case{URL: "http://h.example/x", Stage: Started, HTTP: []HTTP{{Method: "POST", Status: 404}}}
	for name, c := range map[string]struct {
		there Case
		want  string
	}{
		"nothing there":         {Case{URL: lost.URL, Stage: Started, Log: "unexpected EOF"}, Undone},
		"it wants a credential": {Case{URL: lost.URL, Stage: Started, HTTP: []HTTP{{Method: "POST", Status: 401}}}, Helped},
		"it speaks":             {Case{URL: lost.URL, Stage: Spoke, Log: "unexpected EOF"}, Helped},
	} {
		if got := compare(Seen{Case: lost}, Seen{Case: c.there}, Diagnose(lost), true); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Our own advice is shown as it is written: a placeholder in it is not a secret.
func TestAdviceKeepsItsPlaceholders(t *testing.T) {
	spec := launch.Spec{URL: "https://a.example/mcp"}
	c := Case{URL: spec.URL, Live: true, Stage: Started, HTTP: []HTTP{{Status: 401}}}
	report := Treat(t.Context(), spec, Treatment{First: &Seen{Case: c}, Fixes: Fixes(newFakeMachine(t).Machine)})
	if want := "`gauze run --url https://a.example/mcp --header-env Authorization=NAME`"; !strings.HasSuffix(report.Todo, want) {
		t.Errorf("want %s at the end of: %s", want, report.Todo)
	}
}

// What a file or directory is called is foreign text: a secret in it is hidden,
// and it cannot move the cursor.
func TestForeignNamesInFixesAreQuoted(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	f, name := newFakeMachine(t), "home/me/servers/"+token
	if runtime.GOOS != "windows" { // which does not allow it in a name
		name += "\x1b[2J"
	}
	dir := f.folder(name)
	f.file(name+"/server.js", "")
	f.file(name+"/.env", "A=1\n")
	spec := launch.Spec{Command: "node", Args: []string{dir + "/server.js"}, Env: []string{"PATH=/given"}}
	c := said("Error: .env file not found")
	c.Command = append([]string{spec.Command}, spec.Args...)
	fixes := Fixes(f.Machine)(Diagnosis{Cause: "dotenv_not_loaded"}, c, spec)
	if len(fixes) == 0 {
		t.Fatal("nothing is offered")
	}
	for _, fix := range fixes {
		if text := fix.About + fix.Next; strings.Contains(text, token) || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %q", fix.Name, text)
		}
	}
}
