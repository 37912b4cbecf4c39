package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// step is one run of a script of the action, on a runner.
type step struct {
	t    *testing.T
	temp string // of the runner
	env  []string
}

// runner returns a runner with empty files for what steps write.
func runner(t *testing.T, env ...string) *step {
	t.Helper()
	realparts.Tool(t, "jq", "jq")
	realparts.Tool(t, "curl", "curl")
	temp := t.TempDir()
	env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "RUNNER_TEMP=" + temp, "GITHUB_ACTIONS=true", "CI=true",
		"GITHUB_OUTPUT=" + temp + "/output", "GITHUB_STEP_SUMMARY=" + temp + "/summary", "GITHUB_PATH=" + temp + "/path",
	}, env...)
	return &step{t, temp, env}
}

// run runs a script, with more variables, and returns what it prints.
func (s *step) run(script string, env []string, args ...string) (string, error) {
	s.t.Helper()
	for _, name := range []string{"output", "summary", "path"} {
		os.Remove(filepath.Join(s.temp, name))
	}
	file, err := filepath.Abs(filepath.Join("..", "..", "deploy", "action", script))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(patience.Context(s.t), "sh", append([]string{file}, args...)...)
	cmd.Env, cmd.Dir = append(s.env[:len(s.env):len(s.env)], env...), s.temp
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// wrote returns what the script wrote for the runner.
func (s *step) wrote(name string) string {
	b, _ := os.ReadFile(filepath.Join(s.temp, name))
	return string(b)
}

// published returns a signed release in a directory, and the file with its public key.
func published(t *testing.T) (r *release, public string) {
	t.Helper()
	r = standIns(t)
	r.version = "1.2.3"
	key := filepath.Join(t.TempDir(), "key")
	if err := newKey(key); err != nil {
		t.Fatal(err)
	}
	if err := r.useKey(key); err != nil {
		t.Fatal(err)
	}
	r.run(t, archives, sums, signature)
	return r, key + ".pub"
}

// The action installs the latest gauze, or a chosen version, and puts it on the PATH.
func TestActionInstallsGauze(t *testing.T) {
	t.Parallel()
	r, public := published(t)
	mux, release := http.NewServeMux(), http.FileServer(http.Dir(r.dir))
	for _, place := range []string{"/latest/download/", "/download/v1.2.3/"} { // those of gauze upgrade
		mux.Handle(place, http.StripPrefix(place, release))
	}
	files := httptest.NewServer(mux)
	defer files.Close()
	s := runner(t, "GAUZE_RELEASES="+files.URL+"/")
	for _, version := range []string{"latest", "1.2.3", "v1.2.3"} {
		dir := t.TempDir()
		said, err := s.run("install.sh", nil, version, public, dir)
		if err != nil || !strings.Contains(said, "Installed gauze 1.2.3") || s.wrote("path") != dir+"\n" || s.wrote("output") != "version=1.2.3\n" {
			t.Errorf("%s: %v\n%s\nPATH %q, output %q", version, err, said, s.wrote("path"), s.wrote("output"))
		}
		if got := filesIn(t, dir); len(got) != 1 || string(read(t, filepath.Join(dir, got[0]))) != "gauze for linux/"+runtime.GOARCH {
			t.Errorf("%s: %q", version, got)
		}
	}
}

// One changed byte anywhere, another key or version, or a redirect that is not encrypted is an error that says so, and nothing is installed.
func TestActionRefusesAChangedRelease(t *testing.T) {
	t.Parallel()
	good, public := published(t)
	_, stranger := published(t)
	archive := good.archive(released[0], target{"linux", runtime.GOARCH})
	const unsigned = "SHA256SUMS does not have a valid signature"
	for _, c := range []struct{ about, file, version, key, want string }{
		{"archive", archive, "latest", public, archive + " does not have the SHA-256 that SHA256SUMS lists"},
		{"sums", "SHA256SUMS", "latest", public, unsigned},
		{"signature", "SHA256SUMS.sig", "latest", public, unsigned},
		{"key", "", "latest", stranger, unsigned},
		{"no key", "", "latest", filepath.Join(good.dir, "none.pub"), "none.pub is missing, so the release cannot be verified"},
		{"version", "", "1.2.2", public, "asked for gauze 1.2.2, but"},
		{"redirect", "", "1.2.1", public, "could not download"},
		{"name", "", "../x", public, "invalid version '../x'"},
	} {
		files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if strings.HasPrefix(q.URL.Path, "/download/v1.2.1/") {
				http.Redirect(w, q, "/latest/download/"+filepath.Base(q.URL.Path), http.StatusFound)
				return
			}
			content := bytes.Clone(read(t, filepath.Join(good.dir, filepath.Base(q.URL.Path))))
			if filepath.Base(q.URL.Path) == c.file {
				content[len(content)/2] ^= 1
			}
			w.Write(content)
		}))
		dir := t.TempDir()
		s := runner(t, "GAUZE_RELEASES="+files.URL)
		said, err := s.run("install.sh", nil, c.version, c.key, dir)
		files.Close()
		if err == nil || !strings.Contains(said, "::error title=Gauze::") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v\n%s\nexpected %s", c.about, err, said, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "gauze")); err == nil || s.wrote("path") != "" {
			t.Errorf("%s: installed", c.about)
		}
	}
}

// checkout is a clone of a repository whose branch main has a lock file.
type checkout struct{ dir string }

func newCheckout(t *testing.T) checkout {
	t.Helper()
	origin, c := t.TempDir(), checkout{filepath.Join(t.TempDir(), "checkout")}
	gitIn(t, origin, "init", "-q", "-b", "main")
	gitIn(t, origin, "commit", "-q", "--allow-empty", "-m", "first")
	gitIn(t, origin, "clone", "-q", "file://"+origin, c.dir)
	gitIn(t, origin, "checkout", "-q", "--detach") // so that main can be pushed to
	return c
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid"}, args...)...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, said)
	}
}

// The action passes a server that works, offers a lock file, and reports what differs from it: in the checkout, and since
// the branch that a pull request is for.
func TestActionTestsAServerAndReportsChanges(t *testing.T) {
	t.Parallel()
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := newCheckout(t)
	s := runner(t, "PATH="+filepath.Dir(gauze)+":"+os.Getenv("PATH"), "GITHUB_WORKSPACE="+at.dir)
	memory := "MCP_COMMAND=" + strings.Join(realparts.Need(t, realparts.Memory), " ")
	thinking := "MCP_COMMAND=exec " + strings.Join(realparts.Need(t, realparts.SequentialThinking), " ") + " # it's \"quoted\""

	said, err := s.run("check.sh", []string{memory})
	if err != nil || !strings.Contains(s.wrote("output"), "works=true\nchanged=false\n") {
		t.Fatalf("%v\n%s\n%s", err, said, s.wrote("output"))
	}
	for _, want := range []string{"✅ The server works.", "There is no `gauze.lock.json`", `"create_entities": "`} {
		if !strings.Contains(s.wrote("summary"), want) {
			t.Errorf("the summary lacks %q:\n%s", want, s.wrote("summary"))
		}
	}
	locked := read(t, filepath.Join(s.temp, "gauze-action", "gauze.lock.json"))
	if err := os.WriteFile(filepath.Join(at.dir, "gauze.lock.json"), locked, 0o644); err != nil {
		t.Fatal(err)
	}
	gitIn(t, at.dir, "add", ".")
	gitIn(t, at.dir, "commit", "-q", "-m", "lock")
	gitIn(t, at.dir, "push", "-q", "origin", "main")

	request := []string{memory, "GITHUB_BASE_REF=main"}
	if said, err = s.run("check.sh", request); err != nil || !strings.Contains(s.wrote("summary"), "Nothing changed since `main`") ||
		!strings.Contains(s.wrote("summary"), "The server is as `gauze.lock.json` records it.") {
		t.Errorf("%v\n%s\n%s", err, said, s.wrote("summary"))
	}
	request[0] = thinking
	said, err = s.run("check.sh", request)
	if err == nil || !strings.Contains(said, "::error title=Gauze::the server differs from gauze.lock.json") || !strings.Contains(s.wrote("output"), "works=true\nchanged=true\n") {
		t.Errorf("%v\n%s\n%s", err, said, s.wrote("output"))
	}
	for _, want := range []string{"**Changed since `main`:**", "**Different from `gauze.lock.json`:**",
		"    the tool create_entities was removed\n", "    the tool sequentialthinking was added\n", `"sequentialthinking": "`} {
		if !strings.Contains(s.wrote("summary"), want) {
			t.Errorf("the summary lacks %q:\n%s", want, s.wrote("summary"))
		}
	}
}

// A server that does not work fails the job, with the cause; so do inputs that make no sense.
func TestActionFailsWithTheCause(t *testing.T) {
	t.Parallel()
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := runner(t, "PATH="+filepath.Dir(gauze)+":"+os.Getenv("PATH"), "GITHUB_WORKSPACE="+t.TempDir())
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"MCP_COMMAND=node missing.js"}, "Cannot find module"},
		{[]string{"MCP_URL=http://127.0.0.1:1/mcp"}, "refused"},
		{nil, "set either command or url: the server to test."},
		{[]string{"MCP_COMMAND=a", "MCP_URL=http://127.0.0.1:1/mcp"}, "set either command or url, not both."},
		{[]string{`MCP_URL=http://127.0.0.1:1/"`}, "invalid url"},
		{[]string{"MCP_COMMAND=a", "MCP_LOCK=../x.json"}, "invalid lock file '../x.json'"},
	} {
		if said, err := s.run("check.sh", c.env); err == nil || !strings.Contains(said, c.want) || !strings.Contains(said, "::error title=Gauze::") {
			t.Errorf("%q: %v\n%s\nexpected %q", c.env, err, said, c.want)
		}
	}
}

// Nothing that a server says is a command to GitHub, in either form, or is Markdown.
func TestActionPrintsNoCommandOfAServer(t *testing.T) {
	t.Parallel()
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := runner(t, "PATH="+filepath.Dir(gauze)+":"+os.Getenv("PATH"), "GITHUB_WORKSPACE="+t.TempDir())
	said, err := s.run("check.sh", []string{"MCP_NAME=a@team",
		`MCP_COMMAND=printf 'x ##[set-output name=report]/etc/hostname\n::set-output name=report::/etc/hostname\nsay\r@team\n' >&2; exit 1`})
	if err == nil || !strings.Contains(said, "/etc/hostname") {
		t.Fatalf("%v\n%s", err, said)
	}
	if strings.Contains(said, "##[") {
		t.Errorf("a command of the old form:\n%s", said)
	}
	token := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		stop, stops := strings.CutPrefix(line, "::stop-commands::")
		switch {
		case token == "" && stops && len(stop) == 32:
			token = stop
		case token != "" && line == "::"+token+"::":
			token = ""
		case token == "" && strings.Contains(line, "::") && !strings.HasPrefix(line, "::error title=Gauze::"):
			t.Errorf("a command: %s", line)
		}
	}
	if token != "" {
		t.Error("GitHub reads no commands of later steps")
	}
	for line := range strings.Lines(strings.ReplaceAll(s.wrote("summary"), "\r", "\n")) {
		if !strings.HasPrefix(line, "    ") && strings.Contains(line, "@team") {
			t.Errorf("a mention: %s", line)
		}
	}
}

// A command runs as sh runs it, whatever its first word is.
func TestActionRunsACommandAsTheShellDoes(t *testing.T) {
	t.Parallel()
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := runner(t, "PATH="+filepath.Dir(gauze)+":"+os.Getenv("PATH"), "GITHUB_WORKSPACE="+t.TempDir())
	for _, before := range []string{"MODE=prod ", " exec ", "command "} {
		said, err := s.run("check.sh", []string{"MCP_COMMAND=" + before + strings.Join(realparts.Need(t, realparts.Memory), " ")})
		if err != nil || !strings.Contains(s.wrote("output"), "works=true\n") {
			t.Errorf("%s: %v\n%s", before, err, said)
		}
	}
}

// forge is what the action uses of GitHub.
type forge struct {
	sync.Mutex
	comments []string // by id
	others   int      // the first comments, which are not of the token's owner
	login    string   // of the owner, unless it is a bot, which cannot ask
	changes  []string
	forbid   bool
}

func (f *forge) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	f.Lock()
	defer f.Unlock()
	if q.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	var sent struct{ Body string }
	json.NewDecoder(q.Body).Decode(&sent)
	if q.Method != "GET" {
		if f.forbid {
			http.Error(w, "{}", http.StatusForbidden)
			return
		}
		f.changes = append(f.changes, q.Method+" "+q.URL.Path)
	}
	switch q.Method {
	case "GET":
		if q.URL.Path == "/user" {
			f.who(w)
			return
		}
		page, _ := strconv.Atoi(q.URL.Query().Get("page"))
		listed := []map[string]any{}
		for id := (page - 1) * 100; id < min(page*100, len(f.comments)); id++ {
			listed = append(listed, f.comment(id))
		}
		json.NewEncoder(w).Encode(listed)
	case "POST":
		f.comments = append(f.comments, sent.Body)
	case "PATCH":
		var id int
		fmt.Sscanf(filepath.Base(q.URL.Path), "%d", &id)
		f.comments[id] = sent.Body
	}
}

// who answers who the owner of the token is.
func (f *forge) who(w http.ResponseWriter) {
	if f.login == "" {
		http.Error(w, "{}", http.StatusForbidden)
		return
	}
	json.NewEncoder(w).Encode(map[string]string{"login": f.login})
}

func (f *forge) comment(id int) map[string]any {
	user := map[string]string{"login": "github-actions[bot]", "type": "Bot"}
	switch {
	case id < f.others:
		user = map[string]string{"login": "someone", "type": "User"}
	case f.login != "":
		user = map[string]string{"login": f.login, "type": "User"}
	}
	body := any(f.comments[id])
	if body == "" {
		body = nil
	}
	return map[string]any{"id": id, "body": body, "user": user}
}

// A pull request has one comment for each server, however often the action runs, and many others do not hide it.
func TestActionKeepsOneComment(t *testing.T) {
	t.Parallel()
	for _, login := range []string{"", "owner"} {
		keepsOneComment(t, login)
	}
}

func keepsOneComment(t *testing.T, login string) {
	t.Helper()
	hub := &forge{others: 130, login: login}
	for i := range 130 {
		hub.comments = append(hub.comments, fmt.Sprintf("comment %d", i))
	}
	hub.comments[5], hub.comments[6] = "<!-- gauze: MCP server -->\nof someone else", ""
	api := httptest.NewServer(hub)
	defer api.Close()
	s := runner(t, "GITHUB_API_URL="+api.URL, "GITHUB_REPOSITORY=example/server", "GITHUB_TOKEN=secret")
	event, report := filepath.Join(s.temp, "event.json"), filepath.Join(s.temp, "gauze-action", "report.md")
	if err := os.Mkdir(filepath.Dir(report), 0o755); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "GITHUB_EVENT_PATH="+event)
	write(t, event, `{"pull_request": {"number": 7}}`)
	for _, text := range []string{"one \"quoted\"\n", "two\n"} {
		write(t, report, text)
		if said, err := s.run("comment.sh", nil); err != nil || said != "" {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	if said, err := s.run("comment.sh", []string{"MCP_NAME=the other"}); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got := strings.Join(hub.changes, ", "); got != "POST /repos/example/server/issues/7/comments, PATCH /repos/example/server/issues/comments/130, POST /repos/example/server/issues/7/comments" {
		t.Error(got)
	}
	if hub.comments[130] != "<!-- gauze: MCP server -->\ntwo\n" {
		t.Errorf("%q", hub.comments[130])
	}
	hub.forbid = true
	if said, err := s.run("comment.sh", nil); err != nil || !strings.Contains(said, "::warning title=Gauze::the report could not be added") {
		t.Errorf("%v\n%s", err, said)
	}
	hub.forbid = false
	before := len(hub.changes)
	if err := errors.Join(os.Remove(report), os.Symlink("/etc/hostname", report)); err != nil {
		t.Fatal(err)
	}
	if said, err := s.run("comment.sh", nil, "/etc/hostname"); err != nil || len(hub.changes) != before {
		t.Errorf("another file was shown: %v\n%s", err, said)
	}
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	write(t, report, "three\n")
	write(t, event, `{"push": {}}`)
	if said, err := s.run("comment.sh", nil); err != nil || said != "" {
		t.Errorf("without a pull request: %v\n%s", err, said)
	}
}
