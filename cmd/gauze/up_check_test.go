package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// upHome makes a home in which the working directory is a project, and returns both.
func upHome(t *testing.T) (home, project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("AppData", filepath.Join(home, "AppData", "Roaming"))
	t.Setenv("GAUZE_STATE_DIR", filepath.Join(home, "state"))
	t.Setenv("UP_TOKEN", "kZ3n0Qw9xT7vL2mB8rHs")
	project = filepath.Join(home, "project")
	for name, text := range map[string]string{
		".cursor/mcp.json":          `{"mcpServers": {"notes": {"command": "notes-server", "args": ["--token", "sk-live-0123456789abcdefXYZ"]}, "gauze": {"command": "gauze", "args": ["connect"]}}}`,
		"project/.git/HEAD":         "",
		"project/.cursor/mcp.json":  `{"mcpServers": {"theirs": {"command": "sh", "args": ["-c", "evil"], "env": {"A": "b"}}}}`,
		"project/up.yaml":           "include: [cursor]\nservers:\n  web: {url: \"https://example.com/mcp?key=secret\", tools: {deny: [a, b]}}\n  more: {command: [more, \"-x\"], env: {K: \"${UP_NOT_SET}\"}}\nprofiles:\n  p: {servers: [notes, web], tools: {allow: [x]}, list: auto}\ntokens:\n  ci: {env: UP_TOKEN, profile: p}\n  me: {env: UP_OTHER}\n",
		"project/broken/up.yaml":    "serves: {}\nprofiles:\n  p: {servers: []}\n",
		"project/.git/refs/ignored": "",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("UP_OTHER", "9fQ2zRw7bX4kVn8mTs1L")
	t.Chdir(project)
	return home, project
}

func TestCheckUp(t *testing.T) {
	_, project := upHome(t)
	token := "«redacte…"
	if shell.Here().Windows() {
		token = `"«redact…` // in quotes, as it would be typed
	}
	var out bytes.Buffer
	if err := checkUp(&out, "up.yaml"); err != nil {
		t.Fatal(err)
	}
	want := `up.yaml is valid. It has 4 servers, of which 3 cannot be started yet.

SERVER  FROM           COMMAND OR HOST                 TOOLS     STATE
notes   cursor/notes   notes-server --token ` + token + `  all       ready
theirs  cursor/theirs  sh -c evil                      all       waits for confirmation
web     up.yaml:3      example.com                     2 denied  waits for confirmation
more    up.yaml:4      more -x                         all       waits for confirmation

PROFILE  SERVERS     TOOLS      LIST    TOKENS
p        notes, web  1 allowed  auto    ci
(all)    all         all        direct  me

LEFT OUT      BECAUSE
cursor/gauze  it runs gauze connect

A project configures servers that you have not confirmed. To review and confirm them:

    gauze up --confirm theirs PROJECT/up.yaml
    gauze up --confirm web PROJECT/up.yaml
    gauze up --confirm more PROJECT/up.yaml
`
	if got := strings.ReplaceAll(strings.ReplaceAll(out.String(), project, "PROJECT"), `\`, "/"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An include never makes a file invalid: a second server with a key gets another one, which is shown.
func TestCheckUpShowsRenamedServers(t *testing.T) {
	_, project := upHome(t)
	if err := os.WriteFile(filepath.Join(project, "up.yaml"), []byte("include: [cursor]\nservers: {notes: {command: [own]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := checkUp(&out, "up.yaml"); err != nil {
		t.Fatal(err)
	}
	const want = "\nRENAMED       FROM          BECAUSE\nnotes-cursor  cursor/notes  up.yaml:2 has the key notes\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
	}
}

func TestCheckUpReportsEveryProblem(t *testing.T) {
	upHome(t)
	var out bytes.Buffer
	path := filepath.Join("broken", "up.yaml")
	if err := checkUp(&out, path); err != exitStatus(1) {
		t.Fatal(err)
	}
	want := path + " is not valid, so nothing of it is used. It has 2 problems:\n\n" +
		path + `:1: serves: unknown key "serves" in the file; did you mean "servers"?` + "\n" +
		path + ":3: profiles.p.servers: servers is empty: it must be a list of strings such as [github, files]\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := checkUp(&out, ""); err == nil || !strings.Contains(err.Error(), "up.yaml") { // the user has none
		t.Error(err)
	}
}

// A client's file that is broken costs only its own servers, and is shown.
func TestCheckUpNamesWhatIsMissing(t *testing.T) {
	home, _ := upHome(t)
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := checkUp(&out, "up.yaml"); err != exitStatus(1) {
		t.Error(err)
	}
	const want = "\n\nNot everything in the file can be used now:\n\n" +
		"up.yaml:1: include[0]: cannot include cursor: ~/.cursor/mcp.json: the file cannot be parsed\n"
	if got := strings.ReplaceAll(out.String(), `\`, "/"); !strings.HasPrefix(got, "up.yaml is valid. It has 3 servers") || !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
}

// A missing token concerns only those who come over HTTP.
func TestCheckUpNamesMissingTokens(t *testing.T) {
	upHome(t)
	t.Setenv("UP_OTHER", "")
	var out bytes.Buffer
	if err := checkUp(&out, "up.yaml"); err != exitStatus(1) {
		t.Error(err)
	}
	const want = "\n\ngauze connect can use the file, but gauze up cannot serve it over HTTP:\n\n" +
		"up.yaml:9: tokens.me.env: the environment variable UP_OTHER is not set: set it to a random value, such as the output of openssl rand -hex 32\n"
	if got := out.String(); !strings.HasPrefix(got, "up.yaml is valid. It has 4 servers") || !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
}

// A token of gauze up itself is for every server, so it cannot be that of a profile.
func TestCheckUpNamesATokenThatIsNotItsOwn(t *testing.T) {
	upHome(t)
	var out bytes.Buffer
	if err := checkUp(&out, "up.yaml", os.Getenv("UP_TOKEN")); err != exitStatus(1) {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, "up.yaml:8: tokens.ci.env: the token in UP_TOKEN is also that of gauze up itself, which is for every server: set it to") {
		t.Errorf("got\n%s", got)
	}
}

// A server is confirmed by the hash of what was shown, and by nothing else.
func TestConfirmUp(t *testing.T) {
	upHome(t)
	confirm := func(key, consent string) (stdout, stderr string, err error) {
		var out, problems bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&problems)
		cmd.SetIn(strings.NewReader("y\n"))
		err = confirmUp(cmd, "up.yaml", key, consent)
		return out.String(), problems.String(), err
	}
	if _, _, err := confirm("their", ""); err == nil || !strings.Contains(err.Error(), `did you mean "theirs"?`) {
		t.Error(err)
	}
	if out, _, err := confirm("notes", ""); err != nil || out != "notes does not wait for confirmation.\n" {
		t.Error(out, err)
	}
	_, shown, err := confirm("theirs", "")
	if err != exitStatus(1) || !strings.Contains(shown, "sh -c evil\n  with A=b\n") {
		t.Fatalf("%v\n%s", err, shown)
	}
	hash := regexp.MustCompile(`gauze up --confirm theirs --consent (\w{32}) `).FindStringSubmatch(shown)
	if hash == nil {
		t.Fatal(shown)
	}
	if _, _, err := confirm("web", hash[1]); err != exitStatus(1) {
		t.Errorf("another server's hash: %v", err)
	}
	if out, _, err := confirm("theirs", hash[1]); err != nil || out != "theirs is confirmed, and may be started until its entry changes.\n" {
		t.Error(out, err)
	}
	var out bytes.Buffer
	if err := checkUp(&out, "up.yaml"); err != nil || !regexp.MustCompile(`(?m)^theirs .* ready$`).MatchString(out.String()) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
