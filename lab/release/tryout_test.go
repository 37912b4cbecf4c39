//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// installation is a gauze that a channel has installed.
type installation struct {
	gauze   []string // how it is started: its path, or npx -y gauze-mcp
	env     []string // the whole environment, such as of bareMachine
	version string
	channel string   // what gauze version says
	server  []string // a server to wrap; a small one of our own if empty
}

// tryOut runs an installed gauze as its user does first: it knows what it is, the demo holds, and a real server works
// behind it.
func tryOut(t *testing.T, i installation) {
	t.Helper()
	wantVersion(t, i)
	if said, err := i.run(t, "demo"); err != nil || !strings.Contains(said, "every guarantee held") {
		t.Errorf("gauze demo: %v\n%s", err, said)
	}
	i.server = realparts.Need(t, realparts.Everything)
	s := i.open(t)
	s.call("echo", `{"message":"installed"}`, "Echo: installed")
	s.close()
}

// wantVersion is the one place that knows what gauze version prints.
func wantVersion(t *testing.T, i installation) {
	t.Helper()
	said, err := i.run(t, "version")
	first, _, _ := strings.Cut(said, "\n")
	if err != nil || first != "gauze "+i.version {
		t.Errorf("gauze version: %v\n%s\nexpected %s", err, said, i.version)
	}
	if channel := channelIn(said); channel != i.channel {
		t.Errorf("gauze version: %s\nexpected the channel %s", said, i.channel)
	}
}

// channelIn returns the channel in what gauze version prints.
func channelIn(said string) string {
	_, after, _ := strings.Cut(said, "\nchannel: ")
	channel, _, _ := strings.Cut(after, " (")
	return channel
}

// wantAnswer calls a tool of a small wrapped server.
func wantAnswer(t *testing.T, i installation) {
	t.Helper()
	s := i.open(t)
	s.call("echo", `{"text":"installed"}`, `"text":"installed"`)
	s.close()
}

// run returns what gauze prints.
func (i installation) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := i.command(t, args...)
	said, err := cmd.CombinedOutput()
	return string(said), err
}

func (i installation) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	argv := append(i.gauze[:len(i.gauze):len(i.gauze)], args...)
	cmd := exec.CommandContext(patience.Context(t), lookIn(i.env, argv[0]), argv[1:]...)
	cmd.Env, cmd.Dir = i.env, t.TempDir()
	return cmd
}

// wrapped is a session with a server behind gauze run.
type wrapped struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	id  int
}

// open starts the server behind gauze and initializes a session; it has a tool echo.
func (i installation) open(t *testing.T) *wrapped {
	t.Helper()
	server := i.server
	if len(server) == 0 {
		server = smallServer(t)
	}
	return converse(t, i.command(t, append([]string{"run", "--"}, server...)...))
}

// smallServer returns the command of a server with a tool echo, which starts a hundred times as fast as one with Node.js.
func smallServer(t *testing.T) []string {
	t.Helper()
	path, err := programs.Faulty.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

// converse starts a wrapped server and initializes a session.
func converse(t *testing.T, cmd *exec.Cmd) *wrapped {
	t.Helper()
	s := &wrapped{t: t, cmd: cmd}
	in, errIn := s.cmd.StdinPipe()
	out, errOut := s.cmd.StdoutPipe()
	s.cmd.Stderr = t.Output()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.in, s.out = in, bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<20)
	s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tryout","version":"1"}}`)
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if tools := s.request("tools/list", `{}`); !strings.Contains(tools, `"echo"`) {
		t.Fatalf("no tool echo: %s", tools)
	}
	return s
}

// request returns the result of a request.
func (s *wrapped) request(method, params string) string {
	s.t.Helper()
	s.id++
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method, params)
	for s.out.Scan() {
		var response struct {
			ID     int
			Method string
			Result json.RawMessage
		}
		if err := json.Unmarshal(s.out.Bytes(), &response); err != nil {
			s.t.Fatalf("%v: %s", err, s.out.Text())
		}
		if response.Method != "" || response.ID != s.id {
			continue
		}
		if response.Result == nil {
			s.t.Fatalf("%s: %s", method, s.out.Text())
		}
		return string(response.Result)
	}
	s.t.Fatalf("%s: no response: %v", method, s.out.Err())
	return ""
}

// call calls a tool and expects the text in its result.
func (s *wrapped) call(tool, arguments, want string) {
	s.t.Helper()
	if got := s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)); !strings.Contains(got, want) {
		s.t.Errorf("%s: %s, expected %q", tool, got, want)
	}
}

// close ends the session as a client does.
func (s *wrapped) close() {
	s.t.Helper()
	s.in.Close()
	for s.out.Scan() { // until gauze closes it
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("gauze run after its stdin was closed: %v", err)
	}
}

// bareMachine returns the environment of a user who has what is on the PATH, except Go, and an empty home. The settings
// of this machine's user are not in it. Later variables win.
func bareMachine(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + pathWithoutGo(t), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8"}
	for _, name := range []string{patience.EnvPace} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}

// pathWithoutGo returns the PATH without programs of Go: a directory that has some is replaced by one with links to all others.
func pathWithoutGo(t *testing.T) string {
	t.Helper()
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := exec.LookPath(filepath.Join(dir, "go")); err == nil {
			dir = linksWithoutGo(t, dir)
		}
		dirs = append(dirs, dir)
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

func linksWithoutGo(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	for _, e := range entries {
		if e.Name() == "go" || e.Name() == "gofmt" {
			continue
		}
		if err := os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(links, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return links
}

// valueIn returns a variable of an environment, in which later ones win.
func valueIn(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// lookIn finds a program on the PATH of an environment.
func lookIn(env []string, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range filepath.SplitList(valueIn(env, "PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return name
}

// A plain binary works on a machine without Go and with an empty home.
func TestTryOut(t *testing.T) {
	t.Parallel()
	r, env := built(t), bareMachine(t)
	if found := lookIn(env, "go"); found != "go" {
		t.Fatalf("Go is on the PATH: %s", found)
	}
	tryOut(t, installation{gauze: []string{r.binary(released[0], linux)}, env: env, version: r.version, channel: "download"})
}
