package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/doctor"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(m.Run())
}

// newUser makes an empty directory the home of the current user, an empty one the project, and
// returns the home and a function that undoes this.
func newUser() (home string, done func()) {
	dir, err := os.MkdirTemp("", "gauze-doctor-")
	if err != nil {
		panic(err)
	}
	home = filepath.Join(dir, "home")
	project := filepath.Join(dir, "project")
	var undo []func()
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "APPDATA": filepath.Join(home, "AppData", "Roaming"),
		"LOCALAPPDATA": filepath.Join(home, "AppData", "Local"), "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GAUZE_STATE_DIR": filepath.Join(dir, "state")} {
		old, was := os.LookupEnv(name)
		os.Setenv(name, value)
		undo = append(undo, func() {
			if was {
				os.Setenv(name, old)
			} else {
				os.Unsetenv(name)
			}
		})
	}
	before, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for _, made := range []string{home, project} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			panic(err)
		}
	}
	if err := os.Chdir(project); err != nil {
		panic(err)
	}
	return home, func() {
		os.Chdir(before)
		for _, f := range undo {
			f()
		}
		os.RemoveAll(dir)
	}
}

// user is newUser for a test.
func user(t *testing.T) (home string) {
	t.Helper()
	home, done := newUser()
	t.Cleanup(done)
	return home
}

// someServer is a server that works.
func someServer() doctor.Server {
	path, args, env := faultyserver.Command()
	return doctor.Server{Command: append([]string{path}, args...), Env: append(os.Environ(), env...)}
}

// cursor writes a configuration of Cursor with one server and returns the file.
func cursor(dir, name string, s doctor.Server) (file string) {
	env := map[string]string{}
	for _, pair := range ownVariables(s) {
		key, value, _ := strings.Cut(pair, "=")
		env[key] = value
	}
	text, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{name: map[string]any{"command": s.Command[0], "args": s.Command[1:], "env": env}}}, "", "  ")
	if err == nil {
		file = filepath.Join(dir, ".cursor", "mcp.json")
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600))
	}
	if err != nil {
		panic(err)
	}
	return file
}

func TestAServerThatWorks(t *testing.T) {
	var lines []string
	r, err := doctor.Test(t.Context(), someServer(), doctor.TestOptions{Progress: func(line string) { lines = append(lines, line) }})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Works || r.Stage != doctor.StageListed || r.Name != "faultyserver" || r.Transport != "stdio" || !slices.Contains(r.Tools, "echo") || r.Diagnosis != nil || r.Took <= 0 {
		t.Errorf("%+v", r)
	}
	if len(lines) == 0 {
		t.Error("no progress was reported")
	}
}

func TestAServerThatDoesNotWork(t *testing.T) {
	r, err := doctor.Test(t.Context(), doctor.Server{Command: []string{"no-such-bin-xyz", "--token", "s3cr3t-t0ken-4711"}}, doctor.TestOptions{Heal: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Works || r.Stage != doctor.StageNowhere || r.Diagnosis == nil || r.Diagnosis.Category != doctor.CategoryCommandNotFound || r.Next == "" || r.Stopped == "" {
		t.Errorf("%+v", r)
	}
	if text, _ := json.Marshal(r); strings.Contains(string(text), "4711") {
		t.Errorf("a secret is in %s", text)
	}
}

func TestInvalidServersAreErrors(t *testing.T) {
	for want, s := range map[string]doctor.Server{
		"set Server.Command":   {},
		"set only one of them": {Command: []string{"x"}, URL: "http://localhost/"},
		"invalid Server.URL":   {URL: "localhost"},
		"invalid Server.Head":  {URL: "http://localhost/", Header: map[string][]string{"Mcp-Session-Id": {"x"}}},
	} {
		if _, err := doctor.Test(t.Context(), s, doctor.TestOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doctor.Test(ctx, someServer(), doctor.TestOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if _, err := doctor.Test(t.Context(), someServer(), doctor.TestOptions{Timeout: -time.Second}); err == nil || err.Error() != "doctor: invalid TestOptions.Timeout -1s: must be 0 or more" {
		t.Error(err)
	}
}

func TestCheckHealthTestsTheServersOfTheUser(t *testing.T) {
	cursor(user(t), "notes", someServer())
	h, err := doctor.CheckHealth(t.Context(), doctor.HealthOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Servers) != 1 || h.Broken() {
		t.Fatalf("%+v", h)
	}
	if s := h.Servers[0]; s.ID != "cursor/notes" || s.State != doctor.StateWorks || s.Report == nil || !s.Report.Works {
		t.Errorf("%+v", s)
	}
	if h, err = doctor.CheckHealth(t.Context(), doctor.HealthOptions{Static: true}); err != nil || h.Servers[0].Report != nil || h.Servers[0].State != doctor.StateUntried {
		t.Errorf("static: %v, %+v", err, h)
	}
	if _, err := doctor.CheckHealth(t.Context(), doctor.HealthOptions{Servers: []string{"note"}}); err == nil || !strings.Contains(err.Error(), "notes") {
		t.Errorf("%v, want a suggestion", err)
	}
}

// A project may come from someone else: its servers run only if Allow says so.
func TestAServerOfAProjectIsNotStartedUnlessAllowed(t *testing.T) {
	user(t)
	project, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cursor(project, "planted", someServer())
	h, err := doctor.CheckHealth(t.Context(), doctor.HealthOptions{})
	if err != nil || len(h.Servers) != 1 || h.Servers[0].State != doctor.StateUntried || h.Servers[0].Report != nil {
		t.Fatalf("%v, %+v", err, h)
	}
	var asked []doctor.Entry
	for _, answer := range []bool{false, true} {
		h, err = doctor.CheckHealth(t.Context(), doctor.HealthOptions{Allow: func(e doctor.Entry) bool {
			asked = append(asked, e)
			return answer
		}})
		if err != nil || (h.Servers[0].Report != nil) != answer {
			t.Errorf("%v: %v, %+v", answer, err, h)
		}
	}
	if len(asked) != 2 || asked[0].ID != "cursor/planted" || !strings.Contains(asked[0].Whole, someServer().Command[0]) {
		t.Errorf("%+v", asked)
	}
}

func TestHealRepairsAFileOnlyWhenItIsApplied(t *testing.T) {
	file := cursor(user(t), "notes", someServer())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), `"command":`, `"comand":`, 1)
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	h, plan, err := doctor.Heal(t.Context(), doctor.HealthOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !h.Broken() || plan.Empty() || len(plan.Files) != 1 || plan.Files[0] != file || !strings.Contains(plan.Diff(), `+      "command":`) {
		t.Fatalf("%+v\n%s\n%+v", h, plan.Diff(), plan)
	}
	if now, _ := os.ReadFile(file); string(now) != broken {
		t.Error("Heal wrote the file")
	}
	made, err := plan.Apply()
	if err != nil || len(made) != 1 || made[0].ID == "" || made[0].File != file {
		t.Fatalf("%v, %+v", err, made)
	}
	if h, err = doctor.CheckHealth(t.Context(), doctor.HealthOptions{}); err != nil || h.Broken() || h.Servers[0].State != doctor.StateWorks {
		t.Errorf("%v, %+v", err, h)
	}
}

func TestConfigureAddsAServerThatWorks(t *testing.T) {
	home := user(t)
	s := someServer()
	report, plan, err := doctor.Configure(t.Context(), doctor.NewServer{Name: "notes", Command: s.Command, Env: ownVariables(s), Clients: []string{"cursor"}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".cursor", "mcp.json")
	if !report.Works || plan.Empty() || !slices.Equal(plan.Files, []string{file}) || !strings.Contains(plan.Diff(), `"notes"`) {
		t.Fatalf("%+v\n%s", report, plan.Diff())
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Configure wrote the file: %v", err)
	}
	if _, err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	h, err := doctor.CheckHealth(t.Context(), doctor.HealthOptions{})
	if err != nil || len(h.Servers) != 1 || h.Servers[0].State != doctor.StateWorks {
		t.Errorf("%v, %+v", err, h)
	}
	if _, err := plan.Apply(); !errors.Is(err, doctor.ErrChanged) {
		t.Errorf("a plan was applied to a file that is a different one now: %v", err)
	}
}

func TestConfigureDoesNotAddAServerThatDoesNotWork(t *testing.T) {
	user(t)
	report, plan, err := doctor.Configure(t.Context(), doctor.NewServer{Name: "notes", Command: []string{"no-such-bin-xyz"}, Clients: []string{"cursor"}})
	if err != nil || report.Works || !plan.Empty() || report.Diagnosis.Category != doctor.CategoryCommandNotFound {
		t.Errorf("%v, %+v, %+v", err, report, plan)
	}
	report, plan, err = doctor.Configure(t.Context(), doctor.NewServer{Name: "notes", Command: []string{"no-such-bin-xyz"}, Clients: []string{"cursor"}, Untested: true})
	if err != nil || report != nil || plan.Empty() {
		t.Errorf("untested: %v, %+v, %+v", err, report, plan)
	}
	for want, s := range map[string]doctor.NewServer{
		"absolute path":     {Gauze: "gauze"},
		"path to the gauze": {Gauze: filepath.Join(t.TempDir(), "gauze")},
		"NewServer.Timeout": {Timeout: -1},
		`"a b"`:             {Name: "a b"},
		`"nobody"`:          {Name: "a", Command: []string{"x"}, Clients: []string{"nobody"}},
	} {
		if _, _, err := doctor.Configure(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDiagnoseDoesNotShowSecretsOfTheServer(t *testing.T) {
	const key = "zq81-plain-words-only"
	log := "Error: HTTP 401 Unauthorized: invalid key " + key
	for name, server := range map[string]doctor.Server{
		"header":   {URL: "https://example.com/mcp", Header: http.Header{"X-Key": {key}}},
		"address":  {URL: "https://user:" + key + "@example.com/mcp"},
		"argument": {Command: []string{"server", "--api-key", key}},
		"variable": {Command: []string{"server"}, Env: []string{"API_KEY=" + key}},
	} {
		d := doctor.Diagnose(log, server)
		if text := fmt.Sprintf("%+v", d); strings.Contains(text, key) || len(d.Evidence) == 0 {
			t.Errorf("%s: %s", name, text)
		}
	}
}
