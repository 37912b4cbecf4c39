package doctor

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// lostFolder is an absolute path without a folder.
var lostFolder = map[bool]string{false: "/no/such/folder", true: `C:\no\such\folder`}[runtime.GOOS == "windows"]

// A server that says nothing is diagnosed by what the machine shows.
func TestSightingsOfASilentServer(t *testing.T) {
	t.Parallel()
	port := func(open bool) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if open {
			t.Cleanup(func() { listener.Close() })
		} else {
			listener.Close()
		}
		return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	}
	for name, x := range map[string]struct {
		files map[string]string
		args  []string
		env   []string
		seen  upstream.Evidence
		cause string
	}{
		"nothing to see":           {cause: exitedSilently},
		"no script":                {args: []string{"dist/index.js"}, cause: "script_missing"},
		"few files":                {seen: upstream.Evidence{Allowed: life.Allowed{Files: 24}}, cause: "too_many_open_files"},
		"little memory":            {seen: upstream.Evidence{Allowed: life.Allowed{Files: 1024, Memory: 300 << 20}}, cause: "node_heap_oom"},
		"a dead database":          {env: []string{"DATABASE_URL=postgres://me@127.0.0.1:" + port(false) + "/app"}, cause: "companion_app_not_running"},
		"a database":               {env: []string{"DATABASE_URL=postgres://me@127.0.0.1:" + port(true) + "/app"}, cause: exitedSilently},
		"its own address":          {env: []string{"BASE_URL=http://127.0.0.1:" + port(false)}, cause: exitedSilently},
		"a dead proxy":             {env: []string{"HTTPS_PROXY=http://127.0.0.1:" + port(false)}, cause: "proxy_env_breaks"},
		"a taken port":             {args: []string{"server.js", "--port", port(true)}, cause: "port_taken_by_sibling"},
		"a free port":              {args: []string{"server.js", "--port", port(false)}, cause: exitedSilently},
		"a port of a database":     {args: []string{"server.js", "--user", "me", "--port", port(true)}, cause: exitedSilently},
		"a port of the user":       {env: []string{"PORT=" + port(true)}, cause: exitedSilently},
		"much memory":              {seen: upstream.Evidence{Allowed: life.Allowed{Memory: 64 << 30}}, cause: exitedSilently},
		"a script of another kind": {files: map[string]string{"src/index.ts": "1"}, args: []string{"src/index"}, cause: exitedSilently},
		"a module by name":         {args: []string{"npm:@notes/server"}, cause: exitedSilently},
		"several values":           {files: map[string]string{"c.json": "{}\n{}\n"}, args: []string{"server.js", "c.json"}, cause: exitedSilently},
		"a manifest and a .env": {files: map[string]string{".env": "NOTES_TOKEN=0123456789\n",
			"server.json": `{"packages":[{"environmentVariables":[{"name":"NOTES_TOKEN","isRequired":true}]}]}`}, cause: exitedSilently},
		"a manifest with a default": {files: map[string]string{
			"server.json": `{"packages":[{"environmentVariables":[{"name":"NOTES_LANG","isRequired":true,"default":"en"}]}]}`},
			cause: exitedSilently},
		"broken settings": {files: map[string]string{"c.json": "{,}"}, args: []string{"server.js", "--config=c.json"}, cause: "server_config_invalid"},
		"settings":        {files: map[string]string{"c.json": "{}"}, args: []string{"server.js", "--config=c.json"}, cause: exitedSilently},
		"comments":        {files: map[string]string{"c.json": "{} // ours"}, args: []string{"server.js", "c.json"}, cause: exitedSilently},
		"a lost folder":   {args: []string{"server.js", lostFolder}, cause: "wrong_directory_argument"},
		"a path of a URL": {args: []string{"server.js", "--path", "/no-such-path", "--endpoint=/api/mcp"}, cause: exitedSilently},
		"a secret":        {args: []string{"server.js", "--token", "/Zk3hunter2/9fQpXyLmN0"}, cause: exitedSilently},
		"several paths":   {args: []string{"server.js", "--allow-read=/no/such,/tmp"}, cause: exitedSilently},
		"a new file":      {args: []string{"server.js", "/new.db"}, cause: exitedSilently},
		"no modules":      {files: map[string]string{"package.json": `{"dependencies":{"a":"1"}}`}, cause: "broken_npm_install"},
		"a manifest": {files: map[string]string{"server.json": `{"packages":[{"environmentVariables":[{"name":"NOTES_TOKEN","isRequired":true}]}]}`},
			cause: "env_not_set"},
		"a manifest, and all is set": {files: map[string]string{"server.json": `{"packages":[{"environmentVariables":[{"name":"NOTES_TOKEN","isRequired":true}]}]}`},
			env: []string{"NOTES_TOKEN=0123456789"}, cause: exitedSilently},
		"an empty variable that it reads": {files: map[string]string{"server.js": "process.env.NOTES_TOKEN"}, env: []string{"NOTES_TOKEN="}, cause: "env_not_set"},
		"an empty variable of the user":   {env: []string{"NOTES_TOKEN="}, cause: exitedSilently},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeMachine(t)
			f.file("home/me/project/server.js", "1")
			for file, text := range x.files {
				f.file("home/me/project/"+file, text)
			}
			if x.args == nil {
				x.args = []string{"server.js"}
			}
			x.seen.Stage, x.seen.Exit, x.seen.Code = upstream.Started, "exit status 1", 1
			if d := Diagnose(f.seen(launch.Spec{Command: "node", Args: x.args, Env: append([]string{"PATH="}, x.env...)}, x.seen)); d.Cause != x.cause {
				t.Errorf("%s %q, want %s", d.Cause, d.Reasons, x.cause)
			}
		})
	}
}

// How a process ended, or did not start, decides whatever it wrote.
func TestSightingsOfAProcess(t *testing.T) {
	t.Parallel()
	spawn := errors.New("fork/exec /srv/notes: no such file or directory")
	for name, x := range map[string]struct {
		seen  upstream.Evidence
		cause string
	}{
		"stopped":      {upstream.Evidence{Stage: upstream.Started, Limit: upstream.AtLimit{Passed: true, Alive: true, Stopped: true}}, "process_stopped"},
		"a limit":      {upstream.Evidence{Stage: upstream.Started, Exit: "signal: file size limit exceeded", Code: -1, Signal: "SIGXFSZ"}, "process_limit_reached"},
		"a fault":      {upstream.Evidence{Stage: upstream.Started, Exit: "signal: segmentation fault", Code: -1, Signal: "SIGSEGV"}, "server_bug_crash"},
		"a background": {upstream.Evidence{Stage: upstream.Started, Exit: "exit status 0", Left: true}, "stdin_not_connected"},
		"a bad answer": {upstream.Evidence{Stage: upstream.Spoke, Invalid: "its response has another id"}, "invalid_jsonrpc_message"},
		"a directory":  {upstream.Evidence{Spawn: spawn, Errno: "EISDIR", Program: upstream.Program{Path: "/srv/notes", Exists: true, Directory: true}}, "not_a_program"},
		"half a file": {upstream.Evidence{Spawn: spawn, Errno: "ENOEXEC", Program: upstream.Program{Path: "/srv/notes", Exists: true, Executable: true, Partial: true}},
			"binary_download_incomplete"},
		"a carriage return": {upstream.Evidence{Spawn: spawn, Errno: "ENOENT",
			Program: upstream.Program{Path: "/srv/notes", Exists: true, Executable: true, Format: "script", Interpreter: "/bin/sh", InterpreterReturn: true}}, "command_path_missing"},
	} {
		x.seen.StderrTail = []byte("Error: BRAVE_API_KEY environment variable is required\n")
		if d := Diagnose(newFakeMachine(t).seen(launch.Spec{Command: "/srv/notes"}, x.seen)); d.Cause != x.cause {
			t.Errorf("%s: %s %q, want %s", name, d.Cause, d.Reasons, x.cause)
		}
	}
}

// A complaint that no rule knows is shown: what the machine shows beside it is only possible.
func TestSightingsDoNotHideAComplaint(t *testing.T) {
	t.Parallel()
	f := newFakeMachine(t)
	f.file("home/me/project/server.js", "1")
	e := upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, StderrTail: []byte("Error: the license ended in May\n")}
	d := Diagnose(f.seen(launch.Spec{Command: "node", Args: []string{"server.js", lostFolder}, Env: []string{"PATH="}}, e))
	if !d.Tentative() || !slices.Contains(d.Reasons, "Error: the license ended in May") {
		t.Errorf("%+v", d)
	}
}

// A response that the server has since made up for decides nothing.
func TestSightingsOfOldResponses(t *testing.T) {
	t.Parallel()
	served := upstream.Response{Method: "POST", Status: 200, ContentType: "application/json", Session: true}
	for _, old := range []upstream.Response{{Method: "POST", Status: 404}, {Method: "POST", Status: 302, Location: "/login"}} {
		e := upstream.Evidence{Remote: true, Stage: upstream.Listed, HTTP: []upstream.Response{served, old, served, {Method: "POST", Status: 500}}}
		if d := Diagnose(newFakeMachine(t).seen(launch.Spec{URL: "https://notes.example/mcp"}, e)); d.Cause != serverError {
			t.Errorf("%+v: %s %q", old, d.Cause, d.Reasons)
		}
	}
}

// The address of a login page is shown without what was given to it.
func TestALoginPageIsShownWithoutItsKeys(t *testing.T) {
	t.Parallel()
	e := upstream.Evidence{Remote: true, Stage: upstream.Started,
		HTTP: []upstream.Response{{Method: "POST", Status: 302, Location: "https://id.example/login?code=AAAABBBBCCCC"}}}
	d := Diagnose(newFakeMachine(t).seen(launch.Spec{URL: "https://notes.example/mcp"}, e))
	if !slices.Contains(d.Reasons, "HTTP 302, Location: https://id.example/login") {
		t.Errorf("%s %q", d.Cause, d.Reasons)
	}
}

// A working directory that does not exist says nothing about the program.
func TestSightingsOfALostDirectory(t *testing.T) {
	t.Parallel()
	e := upstream.Evidence{Spawn: &launch.WorkdirError{Dir: "/no/such"}, Errno: "ENOENT",
		Program: upstream.Program{Path: "/srv/notes", Exists: true, Executable: true}}
	if d := Diagnose(newFakeMachine(t).seen(launch.Spec{Command: "/srv/notes", Dir: "/no/such"}, e)); d.Cause != "cwd_does_not_exist" {
		t.Errorf("%s %q", d.Cause, d.Reasons)
	}
}

// A file system that cannot be written is not full.
func TestReadOnlyDisksAreNotFull(t *testing.T) {
	windowstest.Skip(t)
	t.Parallel()
	for _, dir := range []string{"/sys", "/proc", "/snap/core"} {
		if free, ok := freeBytes(dir); ok && free == 0 {
			t.Errorf("%s is full", dir)
		}
	}
}

// A look that never ends does not keep the client waiting for the diagnosis.
func TestALookMayNotEnd(t *testing.T) {
	t.Parallel()
	f := newFakeMachine(t)
	f.Lookup = func(context.Context, string) ([]string, error) { select {} }
	e := upstream.Evidence{Remote: true, HTTP: []upstream.Response{{Method: "POST", Failed: "dial tcp: lookup notes.example: no such host"}}}
	if d := Diagnose(f.seen(launch.Spec{URL: "https://notes.example/mcp"}, e)); d.Category != DNSOrNetwork {
		t.Errorf("%s %q", d.Cause, d.Reasons)
	}
}
