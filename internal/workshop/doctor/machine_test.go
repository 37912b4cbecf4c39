package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fakeMachine is a Linux machine with an empty home directory. Programs on it are files; their
// first line is what they print.
type fakeMachine struct {
	*Machine
	t   *testing.T
	env map[string]string

	sockets []string // paths of unix sockets that accept connections, if a test uses them
}

func newFakeMachine(t *testing.T) *fakeMachine {
	t.Helper()
	root := t.TempDir()
	f := &fakeMachine{t: t, env: map[string]string{}}
	f.Machine = &Machine{OS: "linux", Home: filepath.Join(root, "home", "me"), Root: filepath.Join(root, "system"),
		Env:    func(name string) (string, bool) { v, ok := f.env[name]; return v, ok },
		Dial:   (&net.Dialer{}).DialContext,
		Lookup: func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") },
		Run: func(_ context.Context, _ []string, name string, args ...string) (string, error) {
			if !slices.Equal(args, []string{"--version"}) {
				t.Errorf("%s was run with %q", name, args)
			}
			text, err := os.ReadFile(name)
			return string(text), err
		}}
	f.Dir = f.folder("home/me/project")
	f.folder("home/me/project/.git")
	return f
}

func (f *fakeMachine) path(name string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(f.Home)), filepath.FromSlash(name))
}

// plain returns a text with paths of this machine in one notation for all systems: ROOT as the
// prefix, slashes in paths, colons between them.
func (f *fakeMachine) plain(text string) string {
	text = filepath.ToSlash(strings.ReplaceAll(text, f.path(""), "ROOT"))
	if filepath.ListSeparator != ':' {
		text = strings.ReplaceAll(text, string(filepath.ListSeparator), ":")
	}
	return text
}

func (f *fakeMachine) folder(name string) string {
	f.t.Helper()
	path := f.path(name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// file creates a file below the fake root and returns its real path.
func (f *fakeMachine) file(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.folder(filepath.Dir(name)), filepath.Base(name))
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func TestProgramsAreFoundWhereInstallersPutThem(t *testing.T) {
	for _, place := range []string{
		"home/me/.local/bin", "system/opt/homebrew/bin", "system/usr/local/bin", "home/me/.nvm/versions/node/v22.3.0/bin",
		"home/me/.local/share/fnm/node-versions/v20.1.0/installation/bin", "home/me/.volta/bin", "home/me/.asdf/installs/nodejs/20.1.0/bin", "home/me/.asdf/shims",
		"home/me/.local/share/mise/installs/node/22.1.0/bin", "home/me/.local/share/mise/shims", "home/me/.pyenv/versions/3.12.1/bin", "home/me/.cargo/bin",
		"home/me/.bun/bin", "home/me/.deno/bin", "home/me/.local/share/pnpm", "home/me/global/bin",
	} {
		f := newFakeMachine(t)
		f.file("home/me/.npmrc", "prefix=~/global\n")
		want := f.file(place+"/tool", "")
		if got := f.Find("tool", nil); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q", place, got)
		}
	}
	f := newFakeMachine(t)
	f.OS = "windows"
	f.env["APPDATA"] = f.folder("home/me/AppData/Roaming")
	want := f.file("home/me/AppData/Roaming/npm/npx.cmd", "")
	if got := f.Find("npx", nil); !slices.Equal(got, []string{want}) {
		t.Errorf("Windows: %q", got)
	}
}

func TestTheOrderOfFindingIsThatOfLikelihood(t *testing.T) {
	f := newFakeMachine(t)
	old := f.file("home/me/.nvm/versions/node/v9.11.0/bin/npx", "")
	young := f.file("home/me/.nvm/versions/node/v22.3.0/bin/npx", "")
	chosen := f.file("home/me/.nvm/versions/node/v20.5.0/bin/npx", "")
	f.file("home/me/.nvm/alias/default", "20\n")
	given := f.file("given/npx", "")
	ours := f.file("ours/npx", "")
	f.env["PATH"] = filepath.Dir(ours) + string(filepath.ListSeparator) + "relative"
	if err := os.Symlink(filepath.Dir(given), f.path("link")); err != nil {
		t.Fatal(err)
	}
	if got := f.Find("npx", []string{"PATH=" + filepath.Dir(given) + string(filepath.ListSeparator) + f.path("link")}); !slices.Equal(got, []string{given, ours, chosen, young, old}) {
		t.Errorf("%q", got)
	}
}

func TestALoginShellIsAskedForItsPathOnly(t *testing.T) {
	f := newFakeMachine(t)
	shell := f.file("system/bin/zsh", "")
	f.env["SHELL"], f.env["TOKEN"] = shell, "hush-hush-canary"
	var asked []string
	f.Run = func(_ context.Context, env []string, name string, args ...string) (string, error) {
		asked = append(asked, name, strings.Join(args, " "))
		if strings.Contains(strings.Join(env, " "), "canary") {
			t.Error("the shell got a secret")
		}
		return "welcome!\n/a" + string(filepath.ListSeparator) + "/b", nil
	}
	for range 2 {
		if got := f.LoginPath(); !slices.Equal(got, []string{"/a", "/b"}) {
			t.Errorf("%q", got)
		}
	}
	if !slices.Equal(asked, []string{shell, `-lc printf %s "$PATH"`}) {
		t.Errorf("%q", asked)
	}
	for _, shell := range []string{"", "zsh", f.file("system/bin/evil", ""), "/nowhere/zsh"} {
		g := newFakeMachine(t)
		g.env["SHELL"] = shell
		g.Run = func(context.Context, []string, string, ...string) (string, error) {
			t.Errorf("%q was run", shell)
			return "", nil
		}
		if got := g.LoginPath(); got != nil {
			t.Errorf("%q: %q", shell, got)
		}
	}
}

// A program that does not exit is killed with everything it started: the child connects here when
// it runs, and the connection closes when it exits.
func TestAQuestionEndsInTime(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := make(chan net.Conn, 1)
	go func() {
		defer cancel()
		if call, err := listener.Accept(); err == nil {
			calls <- call
		}
	}()
	asked := played(t, "program that never ends", listener.Addr().String())
	if said, err := run(ctx, nil, asked[0], asked[1:]...); err == nil {
		t.Fatalf("it ended by itself: %q", said)
	}
	call := <-calls
	defer call.Close()
	call.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := call.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("what the program started goes on")
	}
}

func TestAFactIsLookedUpOnce(t *testing.T) {
	var m Machine
	var looks atomic.Int32
	done := make(chan int)
	for range 8 {
		go func() { done <- once(&m, "fact", func() int { looks.Add(1); return 7 }) }()
	}
	for range 8 {
		if <-done != 7 {
			t.Error("another answer")
		}
	}
	if looks.Load() != 1 {
		t.Errorf("%d looks", looks.Load())
	}
}

func TestInterpretersTellTheirVersions(t *testing.T) {
	f := newFakeMachine(t)
	f.file("system/usr/bin/node", "v16.20.2\n")
	f.file("home/me/.nvm/versions/node/v22.3.0/bin/node", "v22.3.0\n")
	f.file("home/me/.volta/bin/node", "Volta error: no default\n")
	f.file("system/usr/bin/python3", "Python 3.9.1\n")
	f.file("system/usr/bin/python3.12", "Python 3.12.4\n")
	var got []string
	for _, kind := range []string{"node", "python"} {
		for _, i := range f.Interpreters(kind, nil) {
			got = append(got, dotted(i.Version))
		}
	}
	if want := []string{"22.3.0", "16.20.2", "3.12.4", "3.9.1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		version, requirement string
		want                 bool
	}{
		{"20.1.0", ">=18", true}, {"16.2.0", ">=18", false}, {"18.0.0", ">=18.0.0", true}, {"18.19.1", "^18.0.0 || ^20.0.0 || >=22.0.0", true},
		{"19.2.0", "^18.0.0 || ^20.0.0 || >=22.0.0", false}, {"22.1.0", "20 or higher", true}, {"20.0.0", "20+", true}, {"3.12.1", ">=3.10,<3.13", true},
		{"3.13.0", ">=3.10,<3.13", false}, {"3.9.5", ">3.9", false}, {"3.11.2", "~=3.11.0", true}, {"3.12.0", "~=3.11.0", false}, {"20.11.0", "", true},
		{"20.11.0", "18.x", true}, {"3.8.1", "!=3.8.1", false}, {"20.1.0", "something newer", true},
	} {
		if got := satisfies(versionIn(c.version), c.requirement); got != c.want {
			t.Errorf("%s against %q: %v", c.version, c.requirement, got)
		}
	}
}

func TestDotenvIsReadAndNeverShown(t *testing.T) {
	f := newFakeMachine(t)
	f.file("home/me/.env", "OUTSIDE=1\n")
	f.file("home/me/project/.env", "export A_TOKEN=\"hush # canary\"\nB='two words' # why\n# C=3\nD=4 # four\nE=${OTHER}\nF=your_key_here\nG\nbad name=1\nH=a=b\n")
	f.file("home/me/project/packages/server/.env", "A_TOKEN=nearest-canary\n")
	files := f.Dotenvs(f.path("home/me/project/packages/server"))
	if len(files) != 2 || files[0].Values["A_TOKEN"].Reveal() != "nearest-canary" {
		t.Fatalf("%v", files)
	}
	got := map[string]string{}
	for name, v := range files[1].Values {
		got[name] = v.Reveal()
	}
	if want := "map[A_TOKEN:hush # canary B:two words D:4 H:a=b]"; fmt.Sprint(got) != want {
		t.Errorf("%v", got)
	}
	encoded, err := json.Marshal(files)
	if text := fmt.Sprintf("%v %+v %#v %s %s %v", files, files, files, files, encoded, err); strings.Contains(text, "canary") {
		t.Error(text)
	}
}

func TestProjectsEndAtTheirRoot(t *testing.T) {
	f := newFakeMachine(t)
	f.folder("home/me/loose/deep")
	for dir, want := range map[string]int{"home/me/project": 1, "home/me/loose/deep": 2, "home/me": 0, "elsewhere/deep": 1} {
		if got := f.upwards(f.path(dir)); len(got) != want {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

func TestComposePortsOfEverySpelling(t *testing.T) {
	text := `
services:
  db:
    image: postgres
    ports: ["54320:5432", "127.0.0.1:9000:90", "8000", "53:53/udp", "10.0.0.5:1:1", "3000-3001:4000-4001", "[::1]:7001:7000", "${OUT:-6543}:6432", "${SET}:1234", "80:80/tcp"]
  cache:
    ports:
      - target: 6379
        published: "63790"
      - {target: 11211, published: 21211, protocol: udp}
`
	got := map[int]int{}
	for _, p := range parseCompose("compose.yaml", []byte(text), func(name string) string { return map[string]string{"SET": "4321"}[name] }) {
		got[p.Inner] = p.Outer
	}
	if want := "map[80:80 90:9000 1234:4321 4000:3000 4001:3001 5432:54320 6379:63790 6432:6543 7000:7001]"; fmt.Sprint(got) != want {
		t.Errorf("%v", got)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	for _, hostile := range []string{bomb + "services: {x: {ports: *z}}", "services: [", "services: {x: {ports: {a: b}}}", "services: {x: null}", strings.Repeat("[", 5000)} {
		began := time.Now()
		if got := parseCompose("compose.yaml", []byte(hostile), func(string) string { return "" }); len(got) > 0 || time.Since(began) > 30*time.Second {
			t.Errorf("%.40q: %v, %v", hostile, got, time.Since(began))
		}
	}
}

func TestThePortsOwnerIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	m := ThisMachine()
	switch owner, ok := m.Listener(port); {
	case runtime.GOOS != "linux" && ok: // only Linux tells
		t.Errorf("%v", owner)
	case runtime.GOOS == "linux" && (!ok || owner.PID != os.Getpid() || owner.Name == ""):
		t.Errorf("%v %v", owner, ok)
	}
	if !m.Accepts("127.0.0.1", port) {
		t.Error("nobody takes it")
	}
	listener.Close()
	if owner, ok := m.Listener(port); ok || m.Accepts("127.0.0.1", port) {
		t.Errorf("%v", owner)
	}
}

func TestWhatAHandshakeShows(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the handshakes we break off
	server.StartTLS()
	defer server.Close()
	f := newFakeMachine(t)
	seen := f.Reach(server.URL)
	if !seen.Resolved || !seen.Accepted || seen.TLS.Good || !seen.TLS.Unknown || !strings.Contains(seen.TLS.Issuer, "Acme") {
		t.Errorf("%+v", seen)
	}
	if seen := f.Reach("https://nowhere.invalid/mcp"); seen.Resolved || seen.Accepted {
		t.Errorf("%+v", seen)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	if seen := f.Reach(strings.Replace(plain.URL, "http:", "https:", 1)); !seen.Accepted || seen.TLS.Good || seen.TLS.Unknown {
		t.Errorf("%+v", seen)
	}
}

func TestAnEndpointIsKnownByItsAnswer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.URL.RawQuery != "" {
			t.Error("a look carried something of the user's")
		}
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	mux.HandleFunc("/sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f := newFakeMachine(t)
	for path, want := range map[string]bool{"/mcp": true, "/sse": true, "/page": false, "/none": false} {
		if got := f.SpeaksMCP(server.URL + path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestCacheEntriesOfAPackage(t *testing.T) {
	f := newFakeMachine(t)
	f.file("home/me/.npm/_npx/aaaa/package.json", `{"dependencies":{"@scope/server":"^1.0.0"}}`)
	f.file("home/me/.npm/_npx/bbbb/package.json", `{"dependencies":{"other":"1"}}`)
	f.file("home/me/.npm/_npx/cccc/package.json", `broken`)
	f.folder("home/me/.cache/uv/wheels-v5/pypi/my-server")
	f.folder("home/me/.cache/uv/wheels-v5/pypi/other")
	if got := f.NpxEntries("@scope/server@latest"); !slices.Equal(got, []string{f.path("home/me/.npm/_npx/aaaa")}) {
		t.Errorf("%q", got)
	}
	if got := f.UvEntries("my_server==1.2"); !slices.Equal(got, []string{f.path("home/me/.cache/uv/wheels-v5/pypi/my-server")}) {
		t.Errorf("%q", got)
	}
	if got := append(f.UvEntries("*"), f.UvEntries("../..")...); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func listen(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	n, _ := strconv.Atoi(port)
	return n
}
