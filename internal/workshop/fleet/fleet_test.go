package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// home is a person with a few clients.
type home struct {
	t     *testing.T
	dir   string
	fleet *Fleet
}

const secret = "sk-live-0123456789abcdefXYZ"

var settings = map[string]string{
	".cursor/mcp.json": `{
  "mcpServers": {
    "notes": {"command": "npx", "args": ["-y", "notes-mcp@1.2.0"], "env": {"NOTES_TOKEN": "` + secret + `"}},
    "web": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ` + secret + `"}}
  }
}
`,
	".codex/config.toml": "model = \"x\"\n\n# my servers\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n",
	gooseFile():          "extensions:\n  developer:\n    type: builtin\n    enabled: true\n  clock:\n    type: stdio\n    enabled: true\n    cmd: uvx\n    args:\n      - mcp-server-time\n",
	".claude.json":       `{"numStartups": 12, "mcpServers": {"notes": {"type": "stdio", "command": "npx", "args": ["-y", "notes-mcp@1.2.0"]}}}`,
	"project/.mcp.json":  `{"mcpServers": {"shared": {"command": "sh", "args": ["-c", "touch /tmp/never"]}}}`,
}

// gooseFile returns where goose has its file on this system; the other clients' files are everywhere in the same place.
func gooseFile() string {
	if runtime.GOOS == "windows" {
		return "AppData/Roaming/Block/goose/config/config.yaml"
	}
	return ".config/goose/config.yaml"
}

// quoted returns text as JSON has it.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	for name, text := range settings {
		h.write(name, text)
	}
	h.fleet = &Fleet{
		Home:    clientconfig.Home{OS: runtime.GOOS, Home: h.dir, Project: filepath.Join(h.dir, "project"), Environ: []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}},
		Store:   backup.Store{Dir: filepath.Join(h.dir, "state")},
		Seen:    trust.NewMemory(filepath.Join(h.dir, "state")),
		Machine: doctor.ThisMachine(), Gauze: "/usr/bin/gauze",
	}
	h.fleet.Machine.Home = h.dir // not the caches of whoever runs the test
	return h
}

func (h *home) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *home) apply(p Plan) {
	h.t.Helper()
	if _, err := h.fleet.Apply(p, p.Consent()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) wantUntouched() {
	h.t.Helper()
	for name, text := range settings {
		if got := h.read(name); got != text {
			h.t.Errorf("%s is now\n%s", name, got)
		}
	}
}

func TestEverythingWrappedAndGivenBackIsAsItWas(t *testing.T) {
	h := newHome(t)
	view := h.fleet.Look()
	plan := view.Wrap(view.Servers, true)
	if len(plan.Changes) < 4 {
		t.Fatalf("%d files, skipped %v", len(plan.Changes), plan.Skipped)
	}
	h.apply(plan)
	wrapped := 0
	view = h.fleet.Look()
	for _, s := range view.Servers {
		if s.Wrapped {
			wrapped++
		}
	}
	if wrapped != len(view.Servers)-1 { // all but goose's own
		t.Errorf("%d of %d are wrapped: %v", wrapped, len(view.Servers), plan.Skipped)
	}
	again := view.Wrap(view.Servers, true)
	if !again.Empty() {
		t.Errorf("wrapped twice:\n%s", again.Diff())
	}
	h.apply(view.Unwrap(view.Servers))
	h.wantUntouched()
}

func TestNothingIsWrittenWithoutConsentToThisVeryDiff(t *testing.T) {
	h := newHome(t)
	view := h.fleet.Look()
	plan := view.Wrap(view.Servers, false)
	for _, consent := range []string{"", "yes", view.Unwrap(view.Servers).Consent()} {
		if made, err := h.fleet.Apply(plan, consent); err == nil || len(made) > 0 {
			t.Errorf("consent %q was taken", consent)
		}
	}
	h.wantUntouched()
	// Somebody else was faster.
	path := filepath.Join(h.dir, ".cursor/mcp.json")
	if err := os.WriteFile(path, append([]byte(settings[".cursor/mcp.json"]), ' '), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.fleet.Apply(plan, plan.Consent()); err == nil {
		t.Error("a file that had changed was written over")
	}
}

func TestADiffShowsNoSecret(t *testing.T) {
	h := newHome(t)
	view := h.fleet.Look()
	all := view.Wrap(view.Servers, true).Diff() + view.Remove(view.Servers).Diff()
	for _, s := range view.Servers {
		all += s.Shown()
	}
	if strings.Contains(all, secret) || !strings.Contains(all, "NOTES_TOKEN") {
		t.Errorf("%s", all)
	}
}

func TestAServerIsAddedInEachClientsOwnWay(t *testing.T) {
	h := newHome(t)
	view := h.fleet.Look()
	var clients []*clientconfig.Client
	for _, id := range []string{"cursor", "codex", "goose", "claude-code", "opencode", "copilot-cli", "vscode", "continue", "mistral-vibe"} {
		c, ok := clientconfig.ByID(id)
		if !ok {
			t.Fatal(id)
		}
		clients = append(clients, c)
	}
	spec := launch.Spec{Command: "uvx", Args: []string{"mcp-server-fetch"}}
	plan, err := view.Add(NewServer{Name: "fetch", Spec: spec, Wrapped: true}, clients)
	if err != nil || len(plan.Skipped) > 0 || len(plan.Changes) != len(clients) {
		t.Fatalf("%v %+v %d", err, plan.Skipped, len(plan.Changes))
	}
	h.apply(plan)
	view = h.fleet.Look()
	found := map[string]bool{}
	for _, s := range view.Servers {
		if s.Name == "fetch" {
			found[s.Client.ID] = true
			if !s.Wrapped || s.Real().Command != "uvx" || len(s.Errors()) > 0 {
				t.Errorf("%s: %+v %+v", s.ID(), s.Spec, s.Errors())
			}
		}
	}
	if len(found) < len(clients) {
		t.Errorf("only %v", found)
	}
	if _, err := view.Add(NewServer{Name: "fetch", Spec: spec}, clients[:1]); err == nil {
		t.Error("a second one of the same name")
	}
	chosen, err := view.Choose(Choice{Names: []string{"fetch"}})
	if err != nil {
		t.Fatal(err)
	}
	h.apply(view.Remove(chosen))
	for name, text := range settings {
		if got := h.read(name); strings.TrimSpace(got) != strings.TrimSpace(text) {
			t.Errorf("%s is now\n%s", name, got)
		}
	}
}

// What comes with a project is not run because somebody stands in its folder.
func TestAProjectsServersAreNotRun(t *testing.T) {
	h := newHome(t)
	mark := filepath.Join(h.dir, "ran")
	text := `{"mcpServers": {"evil": {"command": "touch", "args": [` + quoted(mark) + `]}}}`
	if err := os.WriteFile(filepath.Join(h.dir, "project/.mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	view := h.fleet.Look()
	chosen, err := view.Choose(Choice{Names: []string{"evil"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range h.fleet.Check(context.Background(), chosen, CheckOptions{Heal: true}) {
		if c.Tried || !strings.Contains(c.Not, "the project configures") {
			t.Errorf("%+v", c)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it was run")
	}
}

// Nor because the project says so, or has a name for it that shows nothing.
func TestAProjectDoesNotApproveOfItself(t *testing.T) {
	h := newHome(t)
	for name, text := range map[string]string{
		"project/.mcp.json":                   `{"mcpServers": {"evil": {"command": "touch"}, "\u0007": {"command": "touch"}, "": {"command": "touch"}}}`,
		"project/.claude/settings.json":       `{"enableAllProjectMcpServers": true}`,
		"project/.claude/settings.local.json": `{"enabledMcpjsonServers": ["evil", "\u0007", ""]}`,
	} {
		path := filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for _, s := range h.fleet.Look().Servers {
		if s.Config.Place.Scope == clientconfig.Project {
			seen++
			if !s.Foreign() {
				t.Errorf("%s of %s counts as agreed to", s.shown(), s.Client.ID)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d servers of the project", seen)
	}
	// Their user's own approval is for a name: nobody knows which entry they saw.
	h.write(".claude/settings.json", `{"enableAllProjectMcpServers": true, "enabledMcpjsonServers": ["evil"]}`)
	h.write(".claude.json", `{"projects": {`+quoted(h.fleet.Home.Project)+`: {"hasTrustDialogAccepted": true, "enableAllProjectMcpServers": true}}}`)
	for _, s := range h.fleet.Look().Servers {
		if s.Config.InProject() && !s.Foreign() {
			t.Errorf("%q counts as seen", s.Name)
		}
	}
}

// An entry that a person has seen is trusted as it was then, also by the next process; a change of any
// part makes it foreign again, and so does another project.
func TestAnEntryIsTrustedAsItWasSeen(t *testing.T) {
	h := newHome(t)
	const file = "project/.mcp.json"
	entry := func(text string) *Server {
		h.write(file, `{"mcpServers": {"notes": `+text+`}}`)
		found, err := h.fleet.Look().Choose(Choice{Names: []string{"claude-code/notes"}})
		if err != nil {
			t.Fatal(err)
		}
		return found[0]
	}
	const seen = `{"command": "node", "args": ["a b"], "env": {"K": "v"}}`
	if s := entry(seen); !s.Foreign() {
		t.Error("trusted before anyone saw it")
	} else {
		s.Agreed()
	}
	for _, changed := range []string{
		`{"command": "sh", "args": ["a b"], "env": {"K": "v"}}`,
		`{"command": "node", "args": ["a", "b"], "env": {"K": "v"}}`,
		`{"command": "node", "args": ["a b", "c"], "env": {"K": "v"}}`,
		`{"command": "node", "args": ["a b"], "env": {"K": "w"}}`,
		`{"command": "node", "args": ["a b"], "env": {"K": "v", "NODE_OPTIONS": "--require evil.js"}}`,
		`{"command": "node", "args": ["a b"], "env": {"K": "v"}, "cwd": "sub"}`,
		`{"type": "http", "url": "http://127.0.0.1:1/mcp"}`,
	} {
		if s := entry(changed); !s.Foreign() {
			t.Errorf("%s counts as seen", changed)
		}
	}
	h.fleet.Seen = trust.NewMemory(filepath.Join(h.dir, "state"))
	if s := entry(seen); s.Foreign() {
		t.Error("the next process asks again")
	}
	there := h.fleet.At(filepath.Join(h.dir, "elsewhere"))
	h.write("elsewhere/.mcp.json", `{"mcpServers": {"notes": `+seen+`}}`)
	if found, err := there.Look().Choose(Choice{Names: []string{"claude-code/notes"}}); err != nil || !found[0].Foreign() {
		t.Errorf("a different project's entry counts as seen: %v", err)
	}
}

// A change that the user confirmed leaves an entry seen that was seen before, and no other.
func TestAConfirmedChangeOfASeenEntryIsSeen(t *testing.T) {
	h := emptyHome(t)
	h.write("project/.cursor/mcp.json", `{"mcpServers": {"seen": {"command": "node", "args": "a.js"}, "unseen": {"command": "node", "args": "b.js"}}}`)
	view := h.fleet.Look()
	for _, s := range view.Servers {
		if s.Name == "seen" {
			s.Agreed()
		}
	}
	plan := view.Mend(view.Servers, false, WithReview)
	made, err := h.fleet.Apply(plan, plan.Consent())
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	h.fleet.SawPlan(plan, made)
	for _, s := range h.fleet.Look().Servers {
		if s.Foreign() != (s.Name == "unseen") {
			t.Errorf("%s: foreign is %v: %s", s.Name, s.Foreign(), s.Written())
		}
		if len(s.Written().Args) != 1 {
			t.Errorf("%s was not changed: %+v", s.Name, s.Written())
		}
	}
}

// A different entry of the same name is not seen with it.
func TestAConfirmedChangeIsForItsOwnEntry(t *testing.T) {
	h := emptyHome(t)
	const file = "project/.continue/mcpServers/a.yaml"
	seen := "  - name: notes\n    command: node\n    args: [a.js]\n"
	h.write(".continue/x", "")
	h.write(file, "name: n\nversion: 0.0.1\nschema: v1\nmcpServers:\n"+seen)
	for _, s := range h.fleet.Look().Servers {
		s.Agreed()
	}
	h.write(file, "name: n\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: notes\n    command: gauze\n    args: [run, --, sh, -c, evil]\n"+seen)
	view := h.fleet.Look()
	plan := view.Wrap(view.Servers, true)
	made, err := h.fleet.Apply(plan, plan.Consent())
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	h.fleet.SawPlan(plan, made)
	evil := 0
	for _, s := range h.fleet.Look().Servers {
		if s.Real().Command == "sh" {
			evil++
			if !s.Foreign() {
				t.Error("an entry that nobody saw counts as seen")
			}
		} else if s.Foreign() {
			t.Errorf("%s: what was seen before counts as unseen", s.Written())
		}
	}
	if evil != 1 {
		t.Errorf("%d", evil)
	}
}

// Whichever client reads it, by whatever name for the place, and whatever the
// project says about itself.
func TestNoPlaceInAProjectIsTrusted(t *testing.T) {
	h := newHome(t)
	evil := `{"command": "touch", "args": ["ran"]}`
	for name, text := range map[string]string{
		".vscode/x": "", ".copilot/x": "", ".claude/x": "", ".continue/x": "", ".warp/x": "", ".ai/x": "",
		"project/.mcp.json":                     `{"mcpServers": {"shared": ` + evil + `}}`,
		"project/.claude/settings.json":         `{"enableAllProjectMcpServers": true}`,
		"project/.claude/settings.local.json":   `{"enabledMcpjsonServers": ["shared"]}`,
		"project/.vscode/mcp.json":              `{"servers": {"b": ` + evil + `}}`,
		"project/.github/mcp.json":              `{"mcpServers": {"c": ` + evil + `}}`,
		"project/.continue/mcpServers/one.json": `{"mcpServers": {"d": ` + evil + `}}`,
		"project/.devin/mcp_config.local.json":  `{"mcpServers": {"e": ` + evil + `}}`,
		"project/.air/mcp.json":                 `{"mcpServers": {"f": ` + evil + `}}`,
	} {
		h.write(name, text)
	}
	found := map[string]bool{}
	view := h.fleet.Look()
	for _, s := range view.Servers {
		if s.Spec.Command == "touch" {
			found[s.Name] = true
			if !s.Foreign() {
				t.Errorf("%s of %s would be run", s.ID(), s.File)
			}
		}
	}
	if len(found) != 6 {
		t.Errorf("found only %v", found)
	}
	for _, c := range view.Wrap(view.Servers, true).Changes {
		if strings.HasPrefix(c.Path, h.fleet.Home.Project) && !c.NeedsReview() {
			t.Errorf("%s would be written unseen", c.Path)
		}
	}
}

func TestWhatNobodyHasIsNotFoundButWhatWasMeantIs(t *testing.T) {
	view := newHome(t).fleet.Look()
	for name, want := range map[string]string{"ntoes": "notes", "zzzzzz": "gauze list", "cursor/not": "no server named"} {
		if _, err := view.Choose(Choice{Names: []string{name}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := view.Choose(Choice{Clients: []string{"curser"}}); err == nil || !strings.Contains(err.Error(), "cursor") {
		t.Errorf("%v", err)
	}
	both, err := view.Choose(Choice{Names: []string{"notes"}})
	if err != nil || len(both) != 2 {
		t.Errorf("%d %v", len(both), err)
	}
}

// A file whose client rejects all servers is the reason why none is found, and not that none is configured.
func TestAFileThatIsRejectedIsNamedInsteadOfItsServers(t *testing.T) {
	h := newHome(t)
	h.fleet.Home.Home = t.TempDir()
	h.fleet.Home.Environ = []string{"HOME=" + h.fleet.Home.Home}
	h.write("project/.mcp.json", "{\n  \"servers\": {\n    \"clock\": {\"command\": \"clock\",},\n  }\n}\n")
	h.fleet.Home.Project = filepath.Join(h.dir, "project")
	view := h.fleet.Look()
	for client, want := range map[string]bool{"claude-code": true, "cursor": false} {
		_, err := view.Choose(Choice{Names: []string{"clock"}, Clients: []string{client}})
		if named := err != nil && strings.Contains(err.Error(), ".mcp.json: ") && strings.HasSuffix(err.Error(), "gauze doctor"); named != want {
			t.Errorf("%s: %v", client, err)
		}
	}
}

func TestALockHoldsNoValues(t *testing.T) {
	h := newHome(t)
	view := h.fleet.Look()
	var all []*Checked
	for _, s := range view.Servers {
		all = append(all, &Checked{Server: s, Tried: true, Report: doctor.Report{Healthy: true},
			Attempt: probe.Result{Found: probe.Found{Name: "n", Version: "1", Tools: []probe.Tool{{Name: "t", Definition: "d1"}}}}})
	}
	lock, out, err := h.fleet.Lock(all, time.Now())
	if err != nil || len(out) > 0 || bytes.Contains(lock.Bytes(), []byte(secret)) || !bytes.Contains(lock.Bytes(), []byte("NOTES_TOKEN")) {
		t.Errorf("%s", lock.Bytes())
	}
}

// Nothing of a project is run unless somebody agreed to it, and they are asked
// about nothing else.
func TestAProjectsServerIsRunOnlyIfAgreedTo(t *testing.T) {
	h := newHome(t)
	mark := filepath.Join(h.dir, "ran")
	h.write("project/.mcp.json", `{"mcpServers": {"notes": {"command": `+quoted(h.install())+`, "args": ["ran"]}}}`)
	h.write(".claude.json", `{}`)
	h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "true"}}}`)
	var asked []string
	ask := func(answer error) func(*Server) error {
		return func(s *Server) error { asked = append(asked, s.ID()); return answer }
	}
	for _, o := range []CheckOptions{{}, {Ask: ask(errors.New("no"))}, {Ask: ask(nil)}} {
		if _, err := os.Stat(mark); err == nil {
			t.Fatal("it was run")
		}
		h.fleet.Check(context.Background(), must(h.fleet.Look().Choose(Choice{Names: []string{"notes"}})), o)
	}
	if _, err := os.Stat(mark); err != nil || !slices.Equal(asked, []string{"claude-code/notes", "claude-code/notes"}) {
		t.Errorf("%v, asked about %v", err, asked)
	}
}

// Settings that are kept in a repository go to others, too.
func TestAFileInARepositoryIsSharedAndOthersAreWrittenAllTheSame(t *testing.T) {
	h := newHome(t)
	h.write(".cursor/.git/HEAD", "")
	view := h.fleet.Look()
	may, rest := view.Wrap(view.Servers, false).SplitByReview(true)
	for _, c := range append(may.Changes, rest.Changes...) {
		if want := strings.Contains(filepath.ToSlash(c.Path), "/project/") || strings.Contains(c.Path, ".cursor"); c.Shared != want {
			t.Errorf("%s: %v", c.Path, c.Shared)
		}
	}
	if len(may.Changes) < 2 {
		t.Fatalf("%d files", len(may.Changes))
	}
	if err := os.Chmod(may.Changes[0].Path, 0o400); err != nil {
		t.Fatal(err)
	}
	made, err := h.fleet.Apply(may, may.Consent())
	if err == nil || len(made) != len(may.Changes)-1 {
		t.Errorf("%d of %d written: %v", len(made), len(may.Changes), err)
	}
}

// Who agrees to a diff has to see that something is changed that is not shown.
func TestAHiddenChangeIsTold(t *testing.T) {
	h := newHome(t)
	path := filepath.Join(h.dir, ".cursor/mcp.json")
	old := settings[".cursor/mcp.json"]
	c := Change{Change: backup.Change{Path: path, Old: []byte(old), New: []byte(strings.Replace(old, secret, secret+"x", 1))},
		secrets: append(secretsOf(h.fleet.Look().Servers[0].Config), redact.KnownSecrets(secret, secret+"x"))}
	if diff := c.Diff(); !strings.Contains(diff, `-    "notes": {"command": "npx", "args": ["-y", "notes-mcp@1.2.0"], "env": {"NOTES_TOKEN": "«secret 1»"}}`) ||
		!strings.Contains(diff, `+    "notes": {"command": "npx", "args": ["-y", "notes-mcp@1.2.0"], "env": {"NOTES_TOKEN": "«secret 2»"}}`) || strings.Contains(diff, secret) {
		t.Error(diff)
	}
}
