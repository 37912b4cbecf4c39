package agenttools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/llm"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(m.Run())
}

const (
	modern = "2026-07-28"
	legacy = "2025-06-18"
	secret = "sk-live-0123456789abcdefXYZ"
)

// person answers what a client asks. They see the whole question.
type person func(question string) *mcp.ElicitResult

func says(action string, agree any) person {
	return func(string) *mcp.ElicitResult {
		r := &mcp.ElicitResult{Action: action}
		if agree != nil {
			r.Content = map[string]any{"agree": agree}
		}
		return r
	}
}

var yes = says("accept", true)

// agent is a scripted client at a server of ours, in a home of its own.
type agent struct {
	t        *testing.T
	dir      string
	fleet    *fleet.Fleet
	session  *mcp.ClientSession
	settings settings
	leave    func()
	mu       sync.Mutex
	asked    []string // what the person was asked
	progress []string
	heard    strings.Builder // everything the agent and its person were told
}

type settings struct {
	version string
	person  person
	allow   bool
	online  bool
	few     bool // list the default tools only
	model   llm.Model
	byHand  bool // the client leaves questions of the modern era to the test
	files   map[string]string
	environ []string
}

func newAgent(t *testing.T, s settings) *agent {
	t.Helper()
	a := &agent{t: t, dir: shortDir(t)}
	for name, text := range s.files {
		a.write(name, text)
	}
	if err := os.MkdirAll(filepath.Join(a.dir, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.write("opt/gauze", "")
	a.fleet = &fleet.Fleet{
		Home: clientconfig.Home{OS: runtime.GOOS, Home: a.dir, Project: filepath.Join(a.dir, "project"),
			Environ: append([]string{"HOME=" + a.dir, "PATH=" + os.Getenv("PATH")}, s.environ...)},
		Store:    backup.Store{Dir: filepath.Join(a.dir, "state")},
		Seen:     trust.NewMemory(filepath.Join(a.dir, "state")),
		Registry: registry.Source{Dir: filepath.Join(a.dir, "registry"), URL: "https://registry.invalid"},
		Machine:  doctor.ThisMachine(), Gauze: filepath.Join(a.dir, "opt/gauze"), Version: "test",
	}
	a.settings = s
	a.leave = a.connect(s)
	t.Cleanup(func() { a.leave() })
	return a
}

// restart replaces the server and its client by new ones with the same home.
func (a *agent) restart() {
	a.t.Helper()
	a.leave()
	a.leave = a.connect(a.settings)
}

// connect starts a server and a client. leave ends both.
func (a *agent) connect(s settings) (leave func()) {
	t := a.t
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, toServer, fromServer, Options{Fleet: a.fleet, AllowWrites: s.allow, Online: s.online, AllTools: !s.few, Model: s.model, StateDir: filepath.Join(a.dir, "state", "tasks")})
	}()
	options := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.progress = append(a.progress, r.Params.Message)
		a.heard.WriteString(r.Params.Message)
	}}
	options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: s.byHand}
	if s.person != nil {
		options.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.mu.Lock()
			a.asked = append(a.asked, r.Params.Message)
			a.heard.WriteString(r.Params.Message)
			a.mu.Unlock()
			if answer := s.person(r.Params.Message); answer != nil {
				return answer, nil
			}
			return nil, errors.New("the dialog broke")
		}
	}
	if s.version == "" {
		s.version = legacy
	}
	var err error
	a.session, err = mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, options).Connect(ctx,
		&mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: s.version})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		a.session.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(patience.Limit()):
			t.Error("the server does not end with its client")
		}
		stop()
	}
}

func (a *agent) write(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	mode := os.FileMode(0o600)
	if strings.HasPrefix(text, "#!") {
		mode = 0o700
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) read(name string) string {
	text, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func (a *agent) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(a.dir, name))
	return err == nil
}

// all is every file of the home but our own state.
func (a *agent) all() map[string]string {
	files := map[string]string{}
	_ = filepath.WalkDir(a.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path, filepath.Join(a.dir, "state")) {
			return nil
		}
		text, _ := os.ReadFile(path)
		files[path] = string(text)
		return nil
	})
	return files
}

// told is the result of a call.
type told struct {
	data    map[string]any
	text    string
	failed  bool
	refused error // by the protocol
}

func (r told) get(key string) string { s, _ := r.data[key].(string); return s }

// task returns what is said about a task.
func (r told) task(key string) any {
	task, _ := r.data["task"].(map[string]any)
	return task[key]
}

type object = map[string]any

func (a *agent) call(tool string, arguments any) (r told) {
	a.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("p1")
	result, err := a.session.CallTool(context.Background(), params)
	if err != nil {
		return told{refused: err}
	}
	for _, c := range result.Content {
		r.text += c.(*mcp.TextContent).Text
	}
	r.data, _ = result.StructuredContent.(map[string]any)
	a.mu.Lock()
	a.heard.WriteString(r.text + "\n" + fmt.Sprint(r.data) + "\n")
	a.mu.Unlock()
	r.failed = result.IsError
	if !r.failed && r.data == nil {
		a.t.Errorf("%s: no structured content: %s", tool, r.text)
	}
	return r
}

// want calls and wants this status.
func (a *agent) want(status, tool string, arguments object) told {
	a.t.Helper()
	r := a.call(tool, arguments)
	if r.failed || r.refused != nil || r.get("status") != status {
		a.t.Fatalf("%s %v: want %s, have %v %v\n%s", tool, arguments, status, r.data, r.refused, r.text)
	}
	return r
}

// agreeing repeats a call with the tokens it is given until it is done.
func (a *agent) agreeing(tool string, arguments object) (r told, shown []string) {
	a.t.Helper()
	for range 5 {
		r = a.call(tool, arguments)
		if r.failed || r.get("status") != needsConsent {
			return r, shown
		}
		shown = append(shown, r.get("diff"))
		arguments = maps.Clone(arguments)
		arguments["consent"] = r.get("consent")
	}
	a.t.Fatalf("%s asks for ever: %q", tool, shown)
	return r, nil
}

// script is a program that is our test server.
func script(t *testing.T) string {
	path, _, env := faultyserver.Command()
	return fmt.Sprintf("#!/bin/sh\n%s exec '%s' \"$@\"\n", strings.Join(env, " "), path)
}

var aHome = map[string]string{
	".cursor/mcp.json": `{
  "mcpServers": {
    "notes": {"command": "npx", "args": ["-y", "notes-mcp@1.2.0"], "env": {"NOTES_TOKEN": "` + secret + `"}},
    "web": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ` + secret + `"}}
  }
}
`,
}

func TestBothErasAreSpoken(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", legacy, "2025-11-25", modern} {
		a := newAgent(t, settings{version: version, files: aHome})
		if got := a.session.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("asked for %s, have %s", version, got)
		}
		r := a.call("list_servers", nil)
		if r.failed || !strings.Contains(r.text, "cursor/notes") || strings.Contains(a.heard.String(), secret) {
			t.Errorf("%s: %+v", version, r)
		}
	}
}

func TestWhatToolsSayOfThemselves(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{})
	all, err := a.session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// read-only, destructive, idempotent, open world
	want := map[string]string{
		"list_servers":     "r-i-",
		"check_health":     "--iw",
		"evaluate_health":  "--iw",
		"verify":           "--iw",
		"diagnose":         "r-i-",
		"repair_arguments": "r-i-",
		"search_servers":   "r-iw",
		"test_connection":  "--iw",
		"heal_server":      "-diw",
		"configure_server": "-diw",
		"remove_server":    "-di-",
		"wrap_servers":     "--i-",
		"unwrap_servers":   "--i-",
		"undo":             "-d--",
		"run_task":         "-d-w",
		"get_task":         "r-i-",
		"resume_task":      "-d-w",
	}
	for _, tool := range all.Tools {
		h, have := tool.Annotations, []byte("----")
		for i, is := range []bool{h.ReadOnlyHint, *h.DestructiveHint, h.IdempotentHint, *h.OpenWorldHint} {
			if is {
				have[i] = "rdiw"[i]
			}
		}
		if want[tool.Name] != string(have) {
			t.Errorf("%s: %s, want %s", tool.Name, have, want[tool.Name])
		}
		delete(want, tool.Name)
		input, _ := tool.InputSchema.(map[string]any)
		output, _ := tool.OutputSchema.(map[string]any)
		if len(tool.Description) < 60 || tool.Title == "" || input["type"] != "object" || output["type"] != "object" {
			t.Errorf("%s: %q %v", tool.Name, tool.Title, input["type"])
		}
		properties, _ := input["properties"].(map[string]any)
		for name, p := range properties {
			if about, _ := p.(map[string]any)["description"].(string); about == "" {
				t.Errorf("%s: %s is not described", tool.Name, name)
			}
		}
		starts := slices.ContainsFunc(operations[tool.Name], func(o operation) bool { return o.use == trust.Start })
		if starts && h.ReadOnlyHint {
			t.Errorf("%s starts programs, and is declared read-only", tool.Name)
		}
		if _, asks := properties["consent"]; asks == h.ReadOnlyHint && tool.Name != "verify" && tool.Name != "evaluate_health" { // which point to test_connection
			t.Errorf("%s: read-only is %v, takes consent is %v", tool.Name, h.ReadOnlyHint, asks)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// A server that is not found because its client rejects the file: the file is what is healed.
func TestAServerInARejectedFileIsHealed(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: map[string]string{".cursor/mcp.json": `{"servers": {"notes": {"command": "faultyserver"}}}`}})
	r := a.call("heal_server", object{"server": "project-server", "client": "cursor"})
	if r.failed || !strings.Contains(r.text, `"mcpServers"`) {
		t.Errorf("%q %v", r.text, r.refused)
	}
	if r := a.call("test_connection", object{"server": "project-server"}); !r.failed || !strings.Contains(r.text, "mcpServers") {
		t.Errorf("%q", r.text)
	}
}

func TestAnAgentsMistakesAreExplained(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome})
	for _, c := range []struct {
		tool      string
		arguments any
		wants     []string
	}{
		{"remove_server", object{"server": "ntoes"}, []string{`did you mean "notes"`, "list_servers"}},
		{"test_connection", object{"server": "notse"}, []string{`did you mean "notes"`}},
		{"check_health", object{"client": "curser"}, []string{`did you mean "cursor"`}},
		{"check_health", object{"timeout_seconds": 100000}, []string{"timeout_seconds", "600"}},
		{"check_health", object{"servers": object{"a": 1}}, []string{"server", "string"}},
		{"configure_server", object{"package": "npm:x"}, []string{"name"}},
		{"configure_server", object{"server": "a b", "package": "npm:x"}, []string{"invalid server name"}},
		{"configure_server", object{"server": "x", "package": "left-pad", "client": "cursor"}, []string{"npm:NAME", "for example"}},
		{"configure_server", object{"server": "x", "client": "cursor"}, []string{"specify one server"}},
		{"configure_server", object{"server": "x", "url": "https://a.example", "scope": "galaxy"}, []string{"scope", "project"}},
		{"test_connection", object{}, []string{"specify one server", `{"url"`}},
		{"test_connection", object{"server": "notes", "command": "x"}, []string{"cannot be combined"}},
		{"diagnose", object{"log": " "}, []string{"log is empty", "for example"}},
		{"verify", object{"file": "nowhere.lock"}, []string{"gauze lock"}},
		{"undo", object{"id": "77"}, []string{"77", "list"}},
		{"wrap_servers", object{}, []string{"for example"}},
		{"search_servers", object{"query": secret}, []string{"not sent"}},
	} {
		r := a.call(c.tool, c.arguments)
		for _, want := range c.wants {
			if !r.failed || !strings.Contains(r.text, want) {
				t.Errorf("%s %v: no %q in %q %v", c.tool, c.arguments, want, r.text, r.refused)
			}
		}
	}
	// What has one reading is repaired: a number as text.
	if r := a.call("search_servers", object{"query": "notes", "limit": "3"}); r.failed {
		t.Error(r.text)
	}
	if r := a.call("no_such_tool", nil); r.refused == nil {
		t.Error("an unknown tool was called")
	}
}

func TestAYesOfThePersonWrites(t *testing.T) {
	t.Parallel()
	for _, version := range []string{legacy, "2025-11-25", modern} {
		for _, c := range []struct {
			name   string
			person person
			writes bool
			status string
		}{
			{"yes", yes, true, done},
			{"no", says("decline", nil), false, declined},
			{"dismissed", says("cancel", nil), false, declined},
			{"sent without agreeing", says("accept", false), false, declined},
			{"sent empty", says("accept", nil), false, declined},
			{"sent as text", says("accept", "true"), false, declined},
			{"the dialog broke", func(string) *mcp.ElicitResult { return nil }, false, declined},
		} {
			t.Run(version+" "+c.name, func(t *testing.T) {
				a := newAgent(t, settings{version: version, person: c.person, files: aHome, allow: true})
				r := a.call("remove_server", object{"server": "notes"})
				if r.failed || r.get("status") != c.status {
					if c.writes || r.refused == nil { // a client may refuse to send such an answer at all
						t.Errorf("%+v", r)
					}
				}
				if written := a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"]; written != c.writes {
					t.Errorf("written: %v\n%s", written, a.read(".cursor/mcp.json"))
				}
				if len(a.asked) != 1 || !strings.Contains(a.asked[0], `-    "notes"`) || strings.Contains(a.heard.String(), secret) {
					t.Errorf("asked %q", a.asked)
				}
			})
		}
	}
}

func TestWithoutAPersonAnAgentWritesNothing(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome})
	r := a.want(needsPerson, "remove_server", object{"server": "notes"})
	if r.get("consent") != "" || !strings.Contains(r.get("how"), "gauze remove notes --consent ") {
		t.Errorf("%v", r.data)
	}
	// Even the right token is worth nothing.
	view := a.fleet.Look()
	chosen, err := view.Choose(fleet.Choice{Names: []string{"notes"}})
	if err != nil {
		t.Fatal(err)
	}
	token := view.Remove(chosen).Consent()
	if !strings.Contains(r.get("how"), token) {
		t.Errorf("a person could not type %s: %s", token, r.get("how"))
	}
	if r := a.call("remove_server", object{"server": "notes", "consent": token}); !r.failed || !strings.Contains(r.text, "--allow-writes") {
		t.Errorf("%+v", r)
	}
	if a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
		t.Error("it was written")
	}
}

// Where the client asks, the agent cannot answer.
func TestAnAgentDoesNotAnswerForItsPerson(t *testing.T) {
	t.Parallel()
	for _, version := range []string{legacy, modern} {
		a := newAgent(t, settings{version: version, person: says("decline", nil), files: aHome, allow: true})
		view := a.fleet.Look()
		chosen, _ := view.Choose(fleet.Choice{Names: []string{"notes"}})
		r := a.call("remove_server", object{"server": "notes", "consent": view.Remove(chosen).Consent()})
		if !r.failed || a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
			t.Errorf("%s: %+v", version, r)
		}
	}
}

// The answer to a question is worth something only with the question.
func TestAnAnswerToNoQuestionIsNoYes(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{version: modern, person: yes, files: aHome, byHand: true})
	answer := mcp.InputResponseMap{answerName: yes("")}
	send := func(name, state string) *mcp.CallToolResult {
		t.Helper()
		result, err := a.session.CallTool(context.Background(), &mcp.CallToolParams{Name: "remove_server", Arguments: object{"name": name}, RequestState: state, InputResponses: answer})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if r := send("notes", "made up"); !r.IsError {
		t.Error("an answer to a question that nobody asked was taken")
	}
	if r := send("notes", ""); !r.NeedsInput() {
		t.Error("an answer without a question was taken")
	}
	open := send("notes", "").RequestState
	if r := send("web", open); !r.IsError {
		t.Error("the answer was taken for another server")
	}
	if a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
		t.Fatal("it was written")
	}
	open = send("notes", "").RequestState
	if r := send("notes", open); r.IsError || r.NeedsInput() || a.read(".cursor/mcp.json") == aHome[".cursor/mcp.json"] {
		t.Errorf("a yes was not taken: %+v", r)
	}
	a.write(".cursor/mcp.json", aHome[".cursor/mcp.json"])
	if r := send("notes", open); !r.IsError || a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
		t.Error("the answer was taken twice")
	}
}

func TestATokenIsForOneDeed(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome, allow: true})
	untouched := func(why string) {
		t.Helper()
		if a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
			t.Fatalf("written: %s", why)
		}
	}
	for _, forged := range []string{"yes", strings.Repeat("0", 32), "true"} {
		if r := a.call("remove_server", object{"server": "notes", "consent": forged}); !r.failed {
			t.Errorf("%s: %+v", forged, r)
		}
	}
	token := a.want(needsConsent, "remove_server", object{"server": "notes"}).get("consent")
	if r := a.call("remove_server", object{"server": "web", "consent": token}); !r.failed || !strings.Contains(r.text, "different arguments") {
		t.Errorf("%+v", r)
	}
	untouched("with the token of another server")
	if r := a.call("remove_server", object{"server": "notes", "consent": token}); !r.failed {
		t.Errorf("a token that was tried in the wrong place still counts: %+v", r)
	}
	token = a.want(needsConsent, "remove_server", object{"server": "notes"}).get("consent")
	if r := a.call("wrap_servers", object{"server": "notes", "consent": token}); !r.failed {
		t.Errorf("%+v", r)
	}
	untouched("with the token of another tool")

	// Somebody else was faster.
	token = a.want(needsConsent, "remove_server", object{"server": "notes"}).get("consent")
	changed := strings.Replace(aHome[".cursor/mcp.json"], "1.2.0", "1.3.0", 1)
	a.write(".cursor/mcp.json", changed)
	if r := a.call("remove_server", object{"server": "notes", "consent": token}); !r.failed || a.read(".cursor/mcp.json") != changed {
		t.Errorf("%+v\n%s", r, a.read(".cursor/mcp.json"))
	}

	token = a.want(needsConsent, "remove_server", object{"server": "notes"}).get("consent")
	a.want(done, "remove_server", object{"consent": token, "name": "notes"})
	if strings.Contains(a.read(".cursor/mcp.json"), "notes") {
		t.Error("it is still there")
	}
	a.write(".cursor/mcp.json", changed)
	if r := a.call("remove_server", object{"server": "notes", "consent": token}); !r.failed || a.read(".cursor/mcp.json") != changed {
		t.Errorf("used twice: %+v", r)
	}
	if strings.Contains(a.heard.String(), secret) {
		t.Error("the secret was told")
	}
}

// A server somebody names is not run for that.
func TestAStrangersCommandWaitsForAYes(t *testing.T) {
	t.Parallel()
	windowstest.Skip(t)
	for _, version := range []string{legacy, modern} {
		a := newAgent(t, settings{version: version, allow: true, files: map[string]string{
			"project/.mcp.json": `{"mcpServers": {"evil": {"command": "touch", "args": ["RAN"]}, "beacon": {"type": "http", "url": "https://mcp.example.invalid/mcp"}}}`,
		}})
		mark := filepath.Join(a.dir, "ran")
		a.write("project/.mcp.json", strings.Replace(a.read("project/.mcp.json"), "RAN", mark, 1))
		touch := object{"command": "touch", "args": []string{mark, "--", mark + "\u202etxt"}, "env": object{"LD_PRELOAD": "/tmp/x.so", "API_TOKEN": secret}, "timeout_seconds": 5}
		r := a.want(needsConsent, "test_connection", touch)
		for _, want := range []string{"touch " + mark, "‹U+202E›", "LD_PRELOAD=/tmp/x.so", "API_TOKEN=«redacted»"} {
			if !strings.Contains(r.get("diff"), want) {
				t.Errorf("no %s in %s", want, r.get("diff"))
			}
		}
		a.want(needsConsent, "configure_server", object{"server": "x", "command": "touch", "args": []string{mark}, "clients": []string{"cursor"}})
		a.want(needsConsent, "configure_server", object{"server": "x", "package": "npm:evil", "client": "cursor"})
		a.want(needsConsent, "test_connection", object{"package": "pypi:evil"})
		a.want(needsConsent, "test_connection", object{"server": "evil"})
		a.want(needsConsent, "heal_server", object{"server": "evil"})
		a.want(needsConsent, "check_health", object{"include_project": true})
		a.want(needsConsent, "test_connection", object{"server": "beacon"})
		a.want(done, "check_health", object{"auto_heal": true})
		for _, url := range []string{"http://127.0.0.1:1/mcp", "https://localhost/mcp", "https://10.0.0.1/mcp", "https://mcp.example.com/mcp?q=x", "https://printer.local/mcp"} {
			a.want(needsConsent, "test_connection", object{"url": url})
		}
		a.want(needsConsent, "test_connection", object{"url": "https://mcp.example.com/mcp", "headers": object{"Authorization": "Bearer ${AWS_SECRET}"}})
		if a.exists("ran") {
			t.Fatal("it was run")
		}
		// The yes is for this command, and for no other.
		a.want(done, "test_connection", plus(touch, "consent", a.want(needsConsent, "test_connection", touch).get("consent")))
		if !a.exists("ran") {
			t.Error("it was agreed to and not run")
		}
		a.want(done, "test_connection", touch)
		a.want(needsConsent, "test_connection", plus(touch, "env", object{"LD_PRELOAD": "/tmp/y.so"}))
		if strings.Contains(a.heard.String(), secret) {
			t.Error("the secret was told")
		}
	}
}

func plus(o object, key string, value any) object {
	o = maps.Clone(o)
	o[key] = value
	return o
}

func TestConfiguredOnlyAsItWorks(t *testing.T) {
	t.Parallel()
	windowstest.Skip(t)
	for _, c := range []settings{{version: legacy, allow: true}, {version: modern, allow: true}, {version: legacy, person: yes}, {version: modern, person: yes}} {
		c.environ = []string{"CLOCK_TOKEN=" + secret}
		a := newAgent(t, c)
		a.write("bin/clock", script(t))
		add := object{"name": "clock", "command": filepath.Join(a.dir, "bin/clock"), "env": object{"CLOCK_TOKEN": nil}, "clients": []string{"cursor", "codex"}}
		dry, _ := a.agreeing("configure_server", plus(add, "dry_run", true))
		if dry.get("status") != dryRun || a.exists(".cursor/mcp.json") || !strings.Contains(dry.get("diff"), "${env:CLOCK_TOKEN}") {
			t.Fatalf("%+v", dry)
		}
		r, _ := a.agreeing("configure_server", add)
		if r.get("status") != done || len(r.data["written"].([]any)) != 2 || !r.data["report"].(object)["works"].(bool) {
			t.Fatalf("%+v", r)
		}
		if text := a.read(".cursor/mcp.json"); !strings.Contains(text, "gauze") || strings.Contains(text, secret) {
			t.Errorf("%s", text)
		}
		if a.read(".codex/config.toml") == "" {
			t.Error("codex has nothing")
		}
		if c.person != nil && (len(a.asked) != 2 || !strings.Contains(a.asked[0], "bin/clock") || !strings.Contains(a.asked[1], "+++ ")) {
			t.Errorf("asked %q", a.asked)
		}
		if len(a.progress) == 0 {
			t.Error("no progress was told")
		}
		// The same name once more is no change, and no reason to run anything.
		before := len(a.progress)
		if again := a.call("configure_server", add); again.get("status") != nothingToDo || !strings.Contains(again.text, "replace") || len(a.progress) != before {
			t.Errorf("%+v", again)
		}
		// What does not work is not written.
		bad, _ := a.agreeing("configure_server", object{"server": "bad", "command": "false", "client": "cursor"})
		if bad.get("status") != failed || strings.Contains(a.read(".cursor/mcp.json"), "bad") || bad.data["report"].(object)["diagnosis"] == nil {
			t.Errorf("%+v", bad)
		}
		health, _ := a.agreeing("check_health", object{"client": "cursor"})
		if s := health.data["servers"].([]any)[0].(object); s["state"] != "healthy" {
			t.Errorf("%v", s)
		}
		// And back, one file after the other.
		for _, id := range []string{"2", "1"} {
			if r, _ := a.agreeing("undo", object{"id": id}); r.get("status") != done {
				t.Errorf("%+v", r)
			}
		}
		if a.exists(".cursor/mcp.json") || a.exists(".codex/config.toml") {
			t.Error("the files are still there")
		}
		if strings.Contains(a.heard.String(), secret) {
			t.Error("the secret was told")
		}
	}
}

func TestUndoShowsNoSecretAndGivesBack(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome, allow: true})
	if r, _ := a.agreeing("remove_server", object{"server": "notes"}); r.get("status") != done {
		t.Fatalf("%+v", r)
	}
	id := a.want(done, "undo", object{"list": true}).data["changes"].([]any)[0].(object)["id"]
	r, shown := a.agreeing("undo", object{"id": id})
	if r.get("status") != done || a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
		t.Errorf("%+v\n%s", r, a.read(".cursor/mcp.json"))
	}
	if !slices.ContainsFunc(shown, func(s string) bool { return strings.Contains(s, "NOTES_TOKEN") }) || strings.Contains(a.heard.String(), secret) {
		t.Errorf("%s", shown)
	}
}

func TestWrappedAndGivenBack(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome, person: yes, version: modern})
	a.want(done, "wrap_servers", object{"server": "notes"})
	if !strings.Contains(a.read(".cursor/mcp.json"), "gauze") {
		t.Error(a.read(".cursor/mcp.json"))
	}
	a.want(nothingToDo, "wrap_servers", object{"server": "notes"})
	a.want(done, "unwrap_servers", object{"client": "cursor"})
	if a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
		t.Error(a.read(".cursor/mcp.json"))
	}
}

func TestToldWithoutRunningAnything(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{})
	r := a.call("diagnose", object{"log": "Error: spawn uvx ENOENT", "command": "uvx mcp-server-time"})
	if r.get("category") != "command_not_found" {
		t.Errorf("%+v", r)
	}
	schema := object{"type": "object", "properties": object{"n": object{"type": "integer"}}, "required": []string{"n"}}
	r = a.call("repair_arguments", object{"schema": schema, "arguments": object{"n": "5"}})
	if r.get("outcome") != "repaired" || fmt.Sprint(r.data["arguments"]) != "map[n:5]" {
		t.Errorf("%+v", r)
	}
	r = a.call("repair_arguments", object{"schema": schema, "arguments": "{'n': 5,}"})
	if r.get("outcome") != "repaired" {
		t.Errorf("%+v", r)
	}
	r = a.call("repair_arguments", object{"schema": schema, "arguments": object{}, "tool": "count"})
	if r.get("outcome") != "refused" || !strings.Contains(r.get("message"), "n") {
		t.Errorf("%+v", r)
	}
	details, _ := r.data["details"].(map[string]any)
	for _, key := range []string{"type", "summary", "issues", "schema", "suggestions", "validExample"} {
		if details[key] == nil {
			t.Errorf("the details have no %s: %v", key, details)
		}
	}
	r = a.call("search_servers", object{"query": "weather", "online": true})
	if r.failed || !strings.Contains(r.get("note"), "--online") {
		t.Errorf("%+v", r)
	}
}

// shortDir has a name that nobody takes for a key.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
