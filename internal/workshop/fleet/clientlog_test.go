package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// silent returns a server that failed without a known cause, as a test saw it.
func (h *home) silent(client, name string, wrote ...string) *Checked {
	h.t.Helper()
	for _, s := range h.fleet.Look().Servers {
		if s.Client.ID == client && s.Name == name {
			e := upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, Stderr: wrote}
			d := doctor.Diagnose(doctor.FromEvidence(s.Real(), e))
			return &Checked{Server: s, Tried: true, Report: doctor.Report{Diagnosis: &d, Todo: d.Fix}, Attempt: probe.Result{Evidence: e, Stopped: "exited"}}
		}
	}
	h.t.Fatalf("no %s/%s", client, name)
	return nil
}

func TestTheLogOfAClientExplainsAServer(t *testing.T) {
	for _, c := range []struct{ client, file, config, log, want string }{
		{"claude-desktop", ".config/Claude/logs/mcp-server-my-wiki.log", ".config/Claude/claude_desktop_config.json",
			"2026-11-01T10:00:00Z [my wiki] [info] Initializing server...\n2026-11-01T10:00:01Z [my wiki] [error] spawn wiki-mcp ENOENT\n", "command_not_found"},
		{"claude-desktop", ".config/Claude/logs/mcp-server-my-wiki.log", ".config/Claude/claude_desktop_config.json",
			strings.Repeat("[info] Message from client\n", 3000) + "WIKI_TOKEN environment variable is not set\n", "missing_env_var"},
		{"claude-code", ".cache/claude-cli-nodejs/-home-me-work/mcp-logs-my-wiki/2026-11-01.jsonl", ".claude.json",
			`{"error":"Server stderr: Error: connect ECONNREFUSED 127.0.0.1:5999"}` + "\n", "connection_refused"},
	} {
		h := newHome(t)
		h.fleet.Home.OS = "linux"
		h.write(c.config, `{"mcpServers": {"my wiki": {"command": "wiki-mcp", "args": []}}}`)
		h.write(c.file, c.log)
		s := h.silent(c.client, "my wiki")
		h.fleet.consultLog(s)
		if d := s.Report.Diagnosis; string(d.Category) != c.want || !strings.Contains(d.Explanation, "in the client's log") || s.Report.Todo != d.Fix {
			t.Errorf("%s: %+v", c.file, d)
		}
		old := time.Now().Add(-maxLogAge - time.Hour)
		if err := os.Chtimes(filepath.Join(h.dir, c.file), old, old); err != nil {
			t.Fatal(err)
		}
		s = h.silent(c.client, "my wiki")
		h.fleet.consultLog(s)
		if !s.Report.Diagnosis.Unexplained() {
			t.Errorf("%s: an old log was read", c.file)
		}
	}
}

func TestTheLogOfAClientIsNotReadWithoutNeed(t *testing.T) {
	h := newHome(t)
	h.fleet.Home.OS = "linux"
	h.write(".config/Claude/claude_desktop_config.json", `{"mcpServers": {"wiki": {"command": "wiki-mcp", "args": []}}}`)
	h.write(".config/Claude/logs/mcp-server-wiki.log", "spawn wiki-mcp ENOENT\n")
	s := h.silent("claude-desktop", "wiki", "WIKI_TOKEN environment variable is not set")
	h.fleet.consultLog(s)
	if s.Report.Diagnosis.Category != doctor.MissingEnvVar {
		t.Errorf("%+v", s.Report.Diagnosis)
	}
}

// Without a known cause, what the server wrote is shown.
func TestAnUnexplainedFailureShowsWhatTheServerWrote(t *testing.T) {
	h := newHome(t)
	h.write(".config/Claude/claude_desktop_config.json", `{"mcpServers": {"wiki": {"command": "wiki-mcp", "args": []}}}`)
	h.fleet.Home.OS = "linux"
	for _, words := range []string{"the flux capacitor is empty", "E_WIKI_17", "bye"} {
		if v := h.silent("claude-desktop", "wiki", "starting", words, "").Verdict(); !strings.HasSuffix(v.Cause, " Its last output: "+words) {
			t.Errorf("%+v", v)
		}
	}
	if v := h.silent("claude-desktop", "wiki").Verdict(); strings.Contains(v.Cause, "Its last output") {
		t.Errorf("%+v", v)
	}
}
