package doctor

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

func lacking(name string) Case {
	return Case{Command: []string{"npx"}, Stage: Started, Exit: Exit{Known: true, Code: 1}, Stderr: "Error: " + name + " environment variable is required"}
}

func results(r Report) (all []string) {
	for _, step := range r.Steps {
		all = append(all, step.Fix+" "+step.Result)
	}
	return all
}

// A server that names its variables one at a time gets them one at a time, however many they are.
func TestASecondMissingVariableIsProgress(t *testing.T) {
	for _, names := range [][]string{
		{"ORBIT_TOKEN", "ORBIT_TEAM"},
		{"LEDGER_URL", "LEDGER_USER", "LEDGER_PASSWORD"},
		{"A_ONE", "A_TWO", "A_THREE", "A_FOUR", "A_FIVE"},
	} {
		p := &patient{wants: names, sick: map[string]Case{}, offers: map[string][]Fix{}}
		for _, name := range names {
			p.sick[name] = lacking(name)
			p.offers["env_not_set"] = append(p.offers["env_not_set"], adding(name, Runtime))
		}
		report := treat(t, p, Runtime)
		if !report.Healthy || !slices.Equal(report.Spec.Args, names) || slices.Contains(results(report), names[0]+" undone") {
			t.Errorf("%v: %v, %v", names, report.Healthy, results(report))
		}
	}
	// The same variable is still missing: that is no progress, whatever else is missing with it.
	for _, now := range []string{"ORBIT_TOKEN", "ORBIT_TOKEN and ORBIT_TEAM"} {
		before, after := lacking("ORBIT_TOKEN"), lacking("ORBIT_TOKEN")
		after.Stderr = "Error: missing required environment variables: " + strings.ReplaceAll(now, " and ", ", ")
		if got := compare(Seen{Case: before}, Seen{Case: after}, Diagnose(before), false); got != Undone {
			t.Errorf("%s: %s", now, got)
		}
	}
}

// Fixes that do not help are bounded, also between fixes that do.
func TestProgressDoesNotExtendTheAttempts(t *testing.T) {
	refusedByDB := said("FATAL: password authentication failed for user")
	p := &patient{wants: []string{"A_ONE", "none"}, sick: map[string]Case{"A_ONE": lacking("A_ONE"), "none": refusedByDB}, offers: map[string][]Fix{
		"env_not_set":               {adding("A_ONE", Runtime)},
		Diagnose(refusedByDB).Cause: {adding("a", Runtime), adding("b", Runtime), adding("c", Runtime), adding("d", Runtime)}}}
	if report := treat(t, p, Runtime); len(report.Steps) != 4 || report.Healthy {
		t.Errorf("%v", results(report))
	}
}

// All variables in one line are found, and those that are set are not asked for.
func TestSeveralVariablesInOneLine(t *testing.T) {
	for text, want := range map[string][]string{
		"Error: missing required environment variables: ORBIT_TOKEN, ORBIT_TEAM":             {"ORBIT_TOKEN", "ORBIT_TEAM"},
		"Please set ORBIT_TOKEN and ORBIT_TEAM environment variables":                        {"ORBIT_TOKEN", "ORBIT_TEAM"},
		"ORBIT_TOKEN, ORBIT_TEAM and ORBIT_REGION must be set":                               {"ORBIT_TOKEN", "ORBIT_TEAM", "ORBIT_REGION"},
		"Error: 'ORBIT_TOKEN' and 'ORBIT_TEAM' environment variables are required":           {"ORBIT_TOKEN", "ORBIT_TEAM"},
		"Missing environment variables:\n  - ORBIT_TOKEN\n  - ORBIT_TEAM\nSee the README.":   {"ORBIT_TOKEN", "ORBIT_TEAM"},
		"ORBIT_TOKEN is not set. (ORBIT_DEBUG is unrelated.)":                                {"ORBIT_TOKEN"},
		"Missing required environment variable: ORBIT_TOKEN\nusage: set ORBIT_LOG to see it": {"ORBIT_TOKEN"},
		"Set LD_PRELOAD and ORBIT_TOKEN environment variables: they are required":            {"ORBIT_TOKEN"},
		"Please set ORBIT_GIVEN and ORBIT_TEAM environment variables":                        {"ORBIT_TEAM"},
	} {
		f := newFakeMachine(t)
		spec := launch.Spec{Command: "server", Env: []string{"PATH=/given", "ORBIT_GIVEN=1"}}
		c := said(text)
		d := Diagnose(c)
		if got := newPlan(f.Machine, d, c, spec).wanted(); !slices.Equal(got, want) {
			t.Errorf("%q: %s wants %q, want %q", text, d.Cause, got, want)
		}
	}
}

// What a person has to provide is named completely.
func TestEveryMissingVariableIsNamed(t *testing.T) {
	f := newFakeMachine(t)
	spec := launch.Spec{Command: "server", Env: []string{"PATH=/given"}}
	c := said("Error: missing required environment variables: ORBIT_TOKEN, ORBIT_TEAM")
	report := Treat(t.Context(), spec, Treatment{First: &Seen{Case: c}, Fixes: Fixes(f.Machine)})
	for _, name := range []string{"ORBIT_TOKEN", "ORBIT_TEAM"} {
		if !strings.Contains(report.Todo, name) || !strings.Contains(report.Diagnosis.Explanation, name) || !strings.Contains(report.Diagnosis.Fix, name) {
			t.Errorf("no %s in %q, %+v", name, report.Todo, *report.Diagnosis)
		}
	}
}

// slow is a server that responds only to a caller who waits.
type slow struct {
	needs time.Duration
	waits []time.Duration
	other *Case // what it shows to a caller who waits, instead of working
}

func (s *slow) probe(_ context.Context, _ launch.Spec, wait time.Duration) Seen {
	s.waits = append(s.waits, wait)
	if wait < s.needs {
		return Seen{Case: Case{Command: []string{"server"}, Live: true, OS: "linux", Stage: Started, Limit: Limit{Passed: true, Alive: true, After: wait}}}
	}
	if s.other != nil {
		return Seen{Case: *s.other}
	}
	return Seen{Healthy: true}
}

func TestTimeoutsEscalate(t *testing.T) {
	const never = time.Hour
	f := newFakeMachine(t)
	heal := func(s *slow) Report {
		return Treat(t.Context(), launch.Spec{Command: "server", Env: []string{"PATH=/given"}},
			Treatment{Probe: s.probe, Fixes: Fixes(f.Machine), Waits: []time.Duration{30 * time.Second, 60 * time.Second}})
	}
	for _, c := range []struct {
		needs time.Duration
		waits []time.Duration
		works bool
		steps []string
	}{
		{0, []time.Duration{0}, true, nil},
		{20 * time.Second, []time.Duration{0, 30 * time.Second}, true, []string{"wait 30s healed"}},
		{45 * time.Second, []time.Duration{0, 30 * time.Second, 60 * time.Second}, true, []string{"wait 30s undone", "wait 1m0s healed"}},
		{never, []time.Duration{0, 30 * time.Second, 60 * time.Second}, false, []string{"wait 30s undone", "wait 1m0s undone"}},
	} {
		s := &slow{needs: c.needs}
		if report := heal(s); report.Healthy != c.works || !slices.Equal(s.waits, c.waits) || !slices.Equal(results(report), c.steps) {
			t.Errorf("needs %v: waited %v, %v, %v", c.needs, s.waits, report.Healthy, results(report))
		}
	}
	// A server that fails in a different way once it gets the time is probed with that time from then on.
	lacks := lacking("ORBIT_TOKEN")
	s := &slow{needs: 20 * time.Second, other: &lacks}
	if report := heal(s); report.Diagnosis == nil || report.Diagnosis.Cause != "env_not_set" || !slices.Equal(results(report), []string{"wait 30s helped"}) || report.Wait != 30*time.Second {
		t.Errorf("%+v", report)
	}
}

// Waiting longer is not tried for a server whose failure has a known reason, nor by a caller who
// must not wait.
func TestOnlySilenceIsWaitedFor(t *testing.T) {
	waits := []time.Duration{30 * time.Second}
	for name, c := range map[string]Case{
		"it exited":        lacking("ORBIT_TOKEN"),
		"it serves HTTP":   {Command: []string{"server"}, Live: true, Stage: Started, Limit: Limit{Passed: true, Alive: true, Listening: 8080}, Stderr: "Listening on http://localhost:8080"},
		"it is not there":  sickOfPath,
		"it ended instead": {Command: []string{"server"}, Live: true, Stage: Started, Limit: Limit{Passed: true}},
	} {
		asked := 0
		report := Treat(t.Context(), launch.Spec{Command: "server"}, Treatment{Waits: waits, Fixes: func(Diagnosis, Case, launch.Spec) []Fix { return nil },
			Probe: func(context.Context, launch.Spec, time.Duration) Seen { asked++; return Seen{Case: c} }})
		if asked != 1 || len(report.Steps) > 0 {
			t.Errorf("%s: probed %d times, %v", name, asked, results(report))
		}
	}
	for base, want := range map[time.Duration][]time.Duration{
		10 * time.Second: {30 * time.Second, 60 * time.Second},
		60 * time.Second: nil,
		20 * time.Second: {60 * time.Second},
		5 * time.Minute:  nil,
		time.Second:      {3 * time.Second, 6 * time.Second},
	} {
		if got := waitsAfter(base); !slices.Equal(got, want) {
			t.Errorf("after %v: %v, want %v", base, got, want)
		}
	}
}
