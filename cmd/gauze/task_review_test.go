package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/text/shell"
)

const oneStep = "steps: [{id: a, server: s, tool: append, arguments: {key: one}}]\n"

// consentLine is the command that runs exactly what was shown.
var consentLine = regexp.MustCompile(`(?m)^    gauze task (.*--consent [0-9a-f]{32}.*)$`)

// consents returns the arguments of the command that runs what was shown.
func (e *ended) consents() []string {
	e.t.Helper()
	line := consentLine.FindStringSubmatch(e.stdout + e.stderr)
	if line == nil {
		e.t.Fatalf("there is no command with --consent:\n%s%s", e.stdout, e.stderr)
	}
	return strings.Fields(line[1])
}

// clone makes a directory a repository.
func (k *tasks) clone(dir string) {
	k.t.Helper()
	if err := os.MkdirAll(filepath.Join(k.dir, dir, ".git"), 0o700); err != nil {
		k.t.Fatal(err)
	}
}

// configure writes the server cursor/notes into a file of Cursor.
func (k *tasks) configure(file, entry string) {
	k.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(k.dir, file)), 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.write(file, `{"mcpServers": {"notes": `+entry+`}}`)
}

// in makes the commands of k run in a directory below its own, with the same server.
func (k *tasks) in(dir string) *tasks {
	k.t.Helper()
	there := *k
	there.dir = filepath.Join(k.dir, dir)
	if err := os.MkdirAll(there.dir, 0o700); err != nil {
		k.t.Fatal(err)
	}
	there.breaks()
	return &there
}

// A file is shown whole before anything in it starts, once: what was seen are its bytes.
func TestTaskFileIsShownBeforeItRuns(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	k.env = append(k.env, "TASK_CANARY=sk-canary-0123456789")
	k.write("task.yaml", "servers: {s: {command: [taskserver, flags], env: {KEY: \"${TASK_CANARY}\"}}}\nbudget: {steps: 7}\n"+oneStep)
	refused := k.gauze("run", "task.yaml").want(1, "server s: taskserver flags", `with KEY=\$\{TASK_CANARY\}`,
		"sends the value of TASK_CANARY from your environment", `1\. a: s append \{"key":"one"\}`, "budget: 7 calls", "nothing was started: confirmation requires a terminal")
	if !strings.Contains(strings.ReplaceAll(refused.stderr, "\n    ↳ ", ""), "in the directory "+k.dir+"\n") {
		t.Errorf("the directory %s is missing:\n%s", k.dir, refused.stderr)
	}
	shown := k.gauze("run", "--dry-run", "task.yaml").want(0)
	if shown.stderr != "" || !strings.Contains(shown.stdout, "server s: taskserver flags") || !strings.Contains(shown.stdout, "Nothing was started.") {
		t.Errorf("--dry-run:\n%s\n%s", shown.stdout, shown.stderr)
	}
	if a, b := strings.Join(refused.consents(), " "), strings.Join(shown.consents(), " "); a != b || !strings.HasSuffix(a, " task.yaml") {
		t.Errorf("%s\n%s", a, b)
	}
	k.gauze("run", "--consent", "00000000000000000000000000000000", "task.yaml").want(1, "this hash is for a different plan")
	k.wantEffects()
	if out := k.gauze("list"); !strings.HasPrefix(out.stdout, "No tasks yet.") {
		t.Errorf("a task that was not confirmed was recorded:\n%s", out.stdout)
	}
	k.gauze(shown.consents()...).want(0)
	k.wantEffects("one")
	if again := k.gauze("run", "task.yaml").want(0); strings.Contains(again.stderr, "server s:") {
		t.Errorf("what was seen is shown again:\n%s", again.stderr)
	}
	k.wantEffects("one", "one")
	k.write("task.yaml", "servers: {s: {command: [taskserver, flags], env: {KEY: \"${HOME}\"}}}\nbudget: {steps: 7}\n"+oneStep)
	k.gauze("run", "task.yaml").want(1, "sends the value of HOME")
	k.wantEffects("one", "one")
	k.wantNowhere("sk-canary")
}

// --yes is for the user's own files: not for one in a clone, one that leads there, or a command that
// starts there.
func TestYesDoesNotCoverAProjectsTask(t *testing.T) {
	windowstest.Skip(t)
	t.Parallel()
	k := newTasks(t)
	k.clone("clone")
	clone := k.in("clone/deep")
	clone.write("task.yaml", theServer+oneStep)
	clone.gauze("run", "--yes", "task.yaml").want(1, "--yes does not cover this plan")
	if err := os.Symlink(filepath.Join(clone.dir, "task.yaml"), filepath.Join(k.dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	k.gauze("run", "--yes", "link.yaml").want(1, "--yes does not cover this plan")
	k.write("own.yaml", "servers: {s: {command: [taskserver, flags], cwd: clone/deep}}\n"+oneStep)
	k.gauze("run", "--yes", "own.yaml").want(1, "--yes does not cover this plan")
	k.wantEffects()
	clone.wantEffects()
	clone.gauze(clone.gauze("run", "task.yaml").want(1).consents()...).want(0)
	clone.wantEffects("one")
	k.write("own.yaml", theServer+oneStep)
	k.gauze("run", "--yes", "own.yaml").want(0)
	k.wantEffects("one")
}

// A configured server is what its entry says when the task runs: a task that continues after the entry
// changed shows it. --yes is enough for the user's own entry, not for a project's.
func TestChangedEntryOfATaskIsShown(t *testing.T) {
	t.Parallel()
	const evil = `{"command": "taskserver", "args": ["flags", "-unseen"]}`
	for _, test := range []struct {
		name, file string
		project    bool
	}{{"own", ".cursor/mcp.json", false}, {"project", "project/.cursor/mcp.json", true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newTasks(t)
			there := k.in("project")
			k.configure(test.file, `{"command": "taskserver", "args": ["`+filepath.ToSlash(filepath.Join(k.dir, "flags"))+`"]}`)
			k.breaks("-ledger", filepath.Join(k.dir, "ledger"), "-state", filepath.Join(k.dir, "counts"))
			there.write("task.yaml", "servers: {s: cursor/notes}\nbudget: {steps: 1}\nsteps:\n  - {id: a, server: s, tool: append, arguments: {key: one}}\n  - {id: b, server: s, tool: append, arguments: {key: two}}\n  - {id: c, server: s, tool: append, arguments: {key: three}}\n")
			id := there.gauze(there.gauze("run", "task.yaml").want(1, "cursor/notes.*taskserver").consents()...).want(1, "budget of 1 call").id()
			there.gauze("resume", id).want(1, "budget of 1 call") // as it was: no question
			k.configure(test.file, evil)
			for _, args := range [][]string{{"resume", id}, {"resume", "--file", "task.yaml", id}, {"run", "task.yaml"}} {
				there.gauze(args...).want(1, "taskserver flags -unseen", "nothing was started")
			}
			covered := there.gauze("resume", "--yes", id)
			if refused := strings.Contains(covered.stderr, "--yes does not cover"); refused != test.project {
				t.Errorf("resume --yes: %s", covered.stderr)
			}
		})
	}
}

// A goal that the user typed was seen, and so was its server.
func TestTypedGoalNeedsNoConfirmation(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	k.clone("clone")
	k = k.in("clone")
	id := k.gauze("run", "--goal", "x", "--server", "s=taskserver flags").want(1, "no model is configured").id()
	k.gauze("resume", id).want(1, "no model is configured")
	shown := k.gauze("run", "--dry-run", "--goal", "x", "--server", "s=taskserver flags", "--server", "t=taskserver flags").want(0)
	typed := "--server " + shell.Here().Quote("s=taskserver flags") + " --server " + shell.Here().Quote("t=taskserver flags")
	for _, want := range []string{"server t: taskserver flags", "goal: x", "A model may call", typed} {
		if !strings.Contains(shown.stdout, want) {
			t.Errorf("%q is missing:\n%s", want, shown.stdout)
		}
	}
}
