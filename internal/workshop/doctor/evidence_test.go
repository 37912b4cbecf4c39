package doctor

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// What gauze sees itself leads to the same causes as a log.
func TestOwnEvidence(t *testing.T) {
	npx := launch.Spec{Command: "npx", Args: []string{"-y", "notes"}, Env: []string{"NOTES_TOKEN=abcdef123456"}}
	for what, c := range map[string]struct {
		spec launch.Spec
		seen upstream.Evidence
		want string
	}{
		"no such program":  {npx, upstream.Evidence{Spawn: &exec.Error{Name: "npx", Err: exec.ErrNotFound}}, "gui_path_missing"},
		"no such folder":   {npx, upstream.Evidence{Spawn: &fs.PathError{Op: "chdir", Path: "/none", Err: syscall.ENOENT}}, "cwd_does_not_exist"},
		"not executable":   {launch.Spec{Command: "/srv/run"}, upstream.Evidence{Spawn: &fs.PathError{Op: "fork/exec", Path: "/srv/run", Err: syscall.EACCES}}, "missing_exec_bit"},
		"npm's number":     {npx, upstream.Evidence{Stage: upstream.Started, Exit: "exit status 243", Code: 243, Ran: time.Second}, "npm_cache_root_owned"},
		"stderr":           {npx, upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, Stderr: []string{"Error: NOTES_URL is not set"}}, "env_not_set"},
		"noise":            {npx, upstream.Evidence{Stage: upstream.Spoke, Stray: []string{"Welcome to notes!"}}, "stdout_log_pollution"},
		"killed":           {npx, upstream.Evidence{Stage: upstream.Started, Exit: "signal: killed", Code: -1}, "ended_without_reason"},
		"nobody listens":   {launch.Spec{URL: "http://127.0.0.1:1/mcp"}, upstream.Evidence{Remote: true, Spawn: errors.New("dial tcp 127.0.0.1:1: connect: connection refused")}, "local_http_server_not_running"},
		"nothing was said": {npx, upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1}, "ended_without_reason"},
	} {
		d := Diagnose(FromEvidence(c.spec, c.seen))
		if d.Cause != c.want {
			t.Errorf("%s: %s, want %s (%q)", what, d.Cause, c.want, d.Reasons)
		}
	}
}

func TestKnownSecretsAreNotShown(t *testing.T) {
	spec := launch.Spec{Command: "npx", Args: []string{"notes"}, Env: []string{"NOTES_TOKEN=plainword77"}}
	d := Diagnose(FromEvidence(spec, upstream.Evidence{Exit: "exit status 1", Code: 1, Stderr: []string{"Bad credentials: plainword77"}}))
	if d.Category != AuthFailed || strings.Contains(strings.Join(d.Reasons, ""), "plainword77") {
		t.Errorf("%+v", d)
	}
}

func TestTheStateAtTheLimit(t *testing.T) {
	for what, c := range map[string]struct {
		seen Case
		want string
	}{
		"a port":       {Case{Command: []string{"python", "a.py"}, Limit: Limit{Passed: true, Alive: true, Listening: 8000}}, "http_server_run_as_stdio"},
		"a download":   {Case{Command: []string{"uvx", "a"}, Limit: Limit{Passed: true, Alive: true, Downloading: true}}, "npx_cold_start_timeout"},
		"silence":      {Case{Command: []string{"npx", "a"}, Limit: Limit{Passed: true, Alive: true}}, "npx_cold_start_timeout"},
		"a page":       {Case{URL: "https://a.example/", HTTP: []HTTP{{Status: 200, ContentType: "text/html"}}}, "wrong_endpoint_path"},
		"a challenge":  {Case{URL: "https://a.example/mcp", HTTP: []HTTP{{Status: 401, Authenticate: "Bearer resource_metadata=x"}}}, "oauth_not_completed"},
		"a bare 401":   {Case{URL: "https://a.example/mcp", HTTP: []HTTP{{Status: 401}}}, "http_unauthorized"},
		"a redirect":   {Case{URL: "https://a.example/mcp", HTTP: []HTTP{{Status: 307, Location: "/mcp/"}}}, "trailing_slash_redirect"},
		"another verb": {Case{URL: "https://a.example/sse", HTTP: []HTTP{{Status: 405, Allow: "GET"}}}, "sse_vs_streamable"},
		"a method":     {Case{Command: []string{"npx", "a"}, RPC: []RPC{{Code: -32601, Method: "prompts/list", Message: "Method not found"}}}, "optional_method_probed"},
	} {
		if d := Diagnose(c.seen); d.Cause != c.want {
			t.Errorf("%s: %s, want %s", what, d.Cause, c.want)
		}
	}
}
