package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// What gauze saw beats what the server wrote.
func TestEvidenceBeatsWording(t *testing.T) {
	t.Parallel()
	const (
		missing = "sh: 1: npx: not found"
		bug     = "TypeError: Cannot read properties of undefined (reading 'name')"
		key     = "Error: BRAVE_API_KEY environment variable is required"
	)
	failed := Exit{Known: true, Code: 1, Said: "exit status 1"}
	for _, x := range []struct {
		says  string
		state Case
		cause string
	}{
		{missing, Case{Stage: Started, Exit: failed}, "gui_path_missing"},
		{missing, Case{Stage: Started, Limit: Limit{Passed: true, Alive: true, Listening: 3000}}, "http_server_run_as_stdio"},
		{missing, Case{Stage: Initialized, Exit: failed}, exitedSilently},
		{missing, Case{Stage: Initialized, RPC: []RPC{{Code: -32603, Method: "tools/list", Message: "spawn npx ENOENT"}}}, "gui_path_missing"},
		{bug, Case{Stage: Started, Exit: failed}, "server_bug_crash"},
		{bug, Case{Stage: Started, Limit: Limit{Passed: true, Alive: true}}, noAnswer},
		{key, Case{Stage: Started, Exit: failed}, "env_not_set"},
		{key, Case{Stage: Started, Exit: Exit{Known: true, Code: -1, Signal: "SIGSEGV", Said: "signal: segmentation fault"}}, "server_bug_crash"},
		{key, Case{Stage: Started, Limit: Limit{Passed: true, Alive: true, Stopped: true}}, noAnswer},
	} {
		c := x.state
		c.Live, c.OS, c.Command, c.Stderr = true, "linux", []string{"notes-server"}, x.says
		if d := Diagnose(c); d.Cause != x.cause {
			t.Errorf("%q with %+v: %s, want %s", x.says, x.state, d.Cause, x.cause)
		}
		c.Live = false
		if d := Diagnose(c); d.Probe == "" != (d.Category == Unknown || d.Confidence >= likely) {
			t.Errorf("%q in a log: %s %.2f, probe %q", x.says, d.Cause, d.Confidence, d.Probe)
		}
	}
}

// A line about something that the machine contradicts is no evidence.
func TestTheMachineContradicts(t *testing.T) {
	t.Parallel()
	f := newFakeMachine(t)
	there := f.file("home/me/project/data.json", "{}")
	for says, cause := range map[string]string{
		"ENOENT: no such file or directory, open '" + there + "'":     exitedSilently,
		"ENOENT: no such file or directory, open '" + there + ".bak'": "data_file_missing",
		"Error: NOTES_TOKEN environment variable is required":         exitedSilently,
		"Error: OTHER_TOKEN environment variable is required":         "env_not_set",
		// It can have been in use: by the server's last process, for one.
		"12:34:56 Error: listen EADDRINUSE: address already in use :::10": "port_taken_by_sibling",
	} {
		e := upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, StderrTail: []byte(says)}
		c := f.seen(launch.Spec{Command: "notes-server", Env: []string{"NOTES_TOKEN=0123456789"}}, e)
		if d := Diagnose(c); d.Cause != cause {
			t.Errorf("%q: %s, want %s", says, d.Cause, cause)
		}
	}
}

// What starts the server with other variables or files than gauze sees is not contradicted.
func TestTheMachineDoesNotContradictOtherSurroundings(t *testing.T) {
	t.Parallel()
	f := newFakeMachine(t)
	bin := filepath.Dir(f.file("bin/npx", "#!/bin/sh\n"))
	for _, x := range []struct {
		command, says string
		code          int
		category      Category
	}{
		{"sudo", "Error: NOTES_TOKEN environment variable is required", 1, MissingEnvVar},
		{"env", "env: ‘npx’: No such file or directory", 127, CommandNotFound},
		{f.file("home/me/start.sh", "#!/bin/sh\nPATH=/opt/bin\nnpx notes\n"), "start.sh: 3: npx: not found", 127, CommandNotFound},
	} {
		e := upstream.Evidence{Stage: upstream.Started, Exit: fmt.Sprint("exit status ", x.code), Code: x.code, StderrTail: []byte(x.says)}
		c := f.seen(launch.Spec{Command: x.command, Args: []string{"notes"}, Env: []string{"PATH=" + bin, "NOTES_TOKEN=0123456789"}}, e)
		if d := Diagnose(c); d.Category != x.category {
			t.Errorf("%s: %s, want %s", x.command, d.Cause, x.category)
		}
	}
}

// Every category is in the table, and the documentation has it.
func TestOwnEvidenceIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/broken.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, known := "", map[Category]bool{Unknown: true}
	for _, e := range ownEvidence {
		wording := e.wording
		if wording == "" {
			wording = "nothing"
		}
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", e.category, e.sees, wording)
		known[e.category] = true
	}
	if !strings.Contains(string(text), rows) {
		t.Errorf("docs/broken.md must contain:\n%s", rows)
	}
	for _, c := range knowledge().causes {
		if !known[c.category] {
			t.Errorf("%s is not in the table", c.category)
		}
	}
	for _, l := range looks {
		if causeNamed(l.cause).name == "" {
			t.Errorf("there is no cause %q", l.cause)
		}
	}
}
