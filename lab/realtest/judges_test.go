//go:build linux

package realtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// judge is a real client that says what it makes of its file: each of them really starts the servers, or reaches them.
type judge struct {
	client realparts.Client
	file   string                            // in its home
	begin  string                            // of a file, up to the first entry
	end    string                            // of a file, behind the last
	own    []string                          // how it adds a server by itself; NAME and WITNESS are to be filled in
	ask    func(h *house) (verdict, []error) // all of its servers
}

// verdict is what a client says of its file.
type verdict struct {
	listed    []string // the servers it knows of
	connected []string // those it speaks with
	said      string   // all of its words
}

// asked are the judges that are to be asked: two, and all in a run of everything.
func asked() []judge {
	if programs.Everything() {
		return judges
	}
	return judges[:2]
}

var judges = []judge{
	{client: realparts.ClaudeCode, file: ".claude.json", begin: `{"mcpServers": {`, end: "}}\n",
		own: []string{"mcp", "add", "--scope", "user", "NAME", "-e", "LEVEL=1", "--", "WITNESS", "one"}, ask: askClaudeCode},
	{client: realparts.Codex, file: ".codex/config.toml",
		own: []string{"mcp", "add", "NAME", "--env", "LEVEL=1", "--", "WITNESS", "one"}, ask: askCodex},
	{client: realparts.GeminiCLI, file: ".gemini/settings.json", begin: `{"mcpServers": {`, end: "}}\n",
		own: []string{"mcp", "add", "--scope", "user", "-e", "LEVEL=1", "NAME", "WITNESS", "one"}, ask: askGeminiCLI},
	{client: realparts.Opencode, file: ".config/opencode/opencode.json", begin: `{"mcp": {`, end: "}}\n",
		own: []string{"mcp", "add", "NAME", "--env", "LEVEL=1", "--", "WITNESS", "one"}, ask: askOpencode},
	{client: realparts.CopilotCLI, file: ".copilot/mcp-config.json", begin: `{"mcpServers": {`, end: "}}\n",
		own: []string{"mcp", "add", "NAME", "--env", "LEVEL=1", "--", "WITNESS", "one"}, ask: askCopilotCLI},
}

func (j judge) known(t *testing.T) *clientconfig.Client {
	client, ok := clientconfig.ByID(string(j.client))
	if !ok {
		t.Fatalf("%s is not in the table", j.client)
	}
	return client
}

// fewAtOnce: a client takes a processor for a second or more.
var fewAtOnce = make(chan struct{}, 2)

// house is a home in which one client lives, with witnesses for servers.
type house struct {
	judge
	t            *testing.T
	dir, project string
	environ      []string // of the client
	web          *webWitness
}

// secretToken is what entries refer to by a name that promises a secret.
const (
	tokenName   = "ACME_TOKEN"
	secretToken = "the-value-of-the-token"
)

func newHouse(t *testing.T, j judge) *house {
	t.Helper()
	realparts.NeedClient(t, j.client)
	h := &house{judge: j, t: t, dir: t.TempDir(), web: newWebWitness(t)}
	h.project = filepath.Join(h.dir, "project")
	for _, dir := range []string{h.project, filepath.Join(h.dir, "bin"), filepath.Dir(h.path(j.file))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.environ = []string{
		"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1", tokenName + "=" + secretToken,
		"XDG_CACHE_HOME=" + filepath.Join(filepath.Dir(raceReports), "cache"), // some unpack themselves there
		// Nothing is fetched, and nobody is told.
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "npm_config_offline=true",
		"COPILOT_AUTO_UPDATE=false", "COPILOT_OFFLINE=true", "GEMINI_CLI_TRUST_WORKSPACE=true",
	}
	return h
}

func (h *house) path(name string) string { return filepath.Join(h.dir, name) }

func (h *house) read() string {
	h.t.Helper()
	text, err := os.ReadFile(h.path(h.file))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *house) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// run lets the client work, and returns both of its streams.
func (h *house) run(args ...string) (out, errs string, err error) {
	return h.runWith(nil, args...)
}

// runWith is run with more variables.
func (h *house) runWith(more []string, args ...string) (out, errs string, err error) {
	argv := realparts.NeedClient(h.t, h.client, args...)
	fewAtOnce <- struct{}{} // the time to wait for it does not count
	defer func() { <-fewAtOnce }()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience.Limit())
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.project, append(slices.Clip(h.environ), more...), time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// The witness is a server that writes down how it was started.
const witnessScript = `#!/bin/sh
{ for word; do printf 'argument %%s\n' "$word"; done; env; } > "$0.saw.$$" && mv "$0.saw.$$" "$0.saw"
%s=1 exec '%s'
`

// witness makes the server of one name, and returns its program.
func (h *house) witness(name string) string {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	path := h.path("bin/" + name)
	if err := os.WriteFile(path, fmt.Appendf(nil, witnessScript, envWitness, self), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// seen is what reached a server: how it was started, or what came with the request.
type seen struct {
	args    []string
	env     map[string]string
	headers map[string]string
}

// fits tells whether all that was wanted arrived; of variables and headers there is always more.
func (s seen) fits(want seen) bool {
	for name, value := range want.env {
		if got, ok := s.env[name]; !ok || got != value {
			return false
		}
	}
	for name, value := range want.headers {
		if s.headers[name] != value {
			return false
		}
	}
	return slices.Equal(s.args, want.args)
}

func (s seen) String() string {
	return fmt.Sprintf("arguments %q, env %q, headers %q", s.args, s.env, s.headers)
}

// saw returns what reached the server of one name, and forgets it. Of the environment only what tests set is kept.
func (h *house) saw(name string) (s seen, ok bool) {
	if headers, ok := h.web.take(name); ok {
		return seen{headers: headers}, true
	}
	path := h.path("bin/" + name + ".saw")
	text, err := os.ReadFile(path)
	if err != nil {
		return s, false
	}
	_ = os.Remove(path)
	s.env = map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if arg, ok := strings.CutPrefix(line, "argument "); ok {
			s.args = append(s.args, arg)
		} else if name, value, ok := strings.Cut(line, "="); ok && slices.Contains([]string{"LEVEL", "GREETING", "KEY", tokenName}, name) {
			s.env[name] = value
		}
	}
	return s, true
}

// State of one server in its client's eyes.
const (
	refused   = "refused"   // the client does not know it, or nothing of its file
	dead      = "dead"      // it is listed and does not work
	otherwise = "otherwise" // it works, but not as it is meant
	works     = "works"
)

// state asks once and tells how each of these servers is.
func (h *house) state(want map[string]seen) (states map[string]string, v verdict) {
	h.t.Helper()
	for name := range want { // gauze may have tried it
		h.saw(name)
	}
	v, errs := h.ask(h)
	states = map[string]string{}
	for name, wanted := range want {
		got, started := h.saw(name)
		switch {
		case len(errs) > 0 || !slices.Contains(v.listed, name):
			states[name] = refused
		case !slices.Contains(v.connected, name) || !started:
			states[name] = dead
		case !got.fits(wanted):
			states[name] = otherwise
			v.said += fmt.Sprintf("\n%s got %v, want %v", name, got, wanted)
		default:
			states[name] = works
		}
	}
	return states, v
}

// wantWorking asks the client, and all of these have to work as they are meant.
func (h *house) wantWorking(when string, want map[string]seen) {
	h.t.Helper()
	states, v := h.state(want)
	for name, state := range states {
		if state != works {
			h.t.Errorf("%s, %s: %s is %s\n%s\nof\n%s", h.client, when, name, state, v.said, h.read())
		}
	}
}
