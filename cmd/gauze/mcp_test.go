//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// agentHome is a home directory with a project, for gauze as a separate process.
type agentHome struct {
	t   *testing.T
	dir string
}

func newAgentHome(t *testing.T) agentHome {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze") // a short name: a long one looks like a key
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := agentHome{t, dir}
	h.write("project/.keep", "")
	return h
}

func (h agentHome) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	mode := os.FileMode(0o600)
	if strings.HasPrefix(text, "#!") {
		mode = 0o700
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

// program installs the test server under a different name.
func (h agentHome) program(name string, flags ...string) {
	path, _, env := faultyserver.Command()
	h.write(name, fmt.Sprintf("#!/bin/sh\n%s exec '%s' %s\n", strings.Join(env, " "), path, strings.Join(flags, " ")))
}

// command returns a command of this user, in the project.
func (h agentHome) command(name string, args ...string) *exec.Cmd {
	cmd := program(h.t, name, args...)
	cmd.Dir = filepath.Join(h.dir, "project")
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+h.dir+"/state", "XDG_CACHE_HOME="+h.dir+"/cache", "XDG_CONFIG_HOME=", "SHELL=/bin/sh")
	return cmd
}

// connect connects a real client to a server over stdio.
func connect(t *testing.T, cmd *exec.Cmd, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, err := tryToConnect(t, cmd, version, options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func tryToConnect(t *testing.T, cmd *exec.Cmd, version string, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	said := &lockedBuffer{}
	cmd.Stderr = said
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, options).Connect(context.Background(),
		&mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	t.Cleanup(func() { session.Close() })
	return session, nil
}

type object = map[string]any

func callTool(t *testing.T, session *mcp.ClientSession, tool string, arguments object) (data object, text string) {
	t.Helper()
	result, err := session.CallTool(patience.Context(t), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, c := range result.Content {
		text += c.(*mcp.TextContent).Text
	}
	if result.IsError {
		t.Fatalf("%s: %s", tool, text)
	}
	data, _ = result.StructuredContent.(object)
	return data, text
}

// agreeable returns the client of a person who agrees to every question, and what is done with each.
func agreeable(asked func(question string)) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked(r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: object{"agree": true}}, nil
	}}
}

// The tools that gauze mcp lists by default turn a .mcp.json that no client can read, with three broken
// entries, into working servers.
func TestAnAgentHealsABrokenProject(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		for _, asks := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the client asks: %v", version, asks), func(t *testing.T) {
				t.Parallel()
				healABrokenProject(t, version, asks)
			})
		}
	}
}

func healABrokenProject(t *testing.T, version string, asks bool) {
	h := newAgentHome(t)
	web := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	h.program(".local/bin/clock") // not on the PATH
	h.program("bin/notes")
	h.write("project/.mcp.json", `{
  "servers": {
    "clock": {"cmd": "clock", "args": []},
    "notes": {"command": "`+h.dir+`/bin/notes", "args": "--quiet"},
    "web": {"url": "`+strings.TrimSuffix(web.URL(), "/mcp")+`/wrong"},
  }
}
`)
	args, options, asked := []string{"mcp"}, &mcp.ClientOptions{}, 0
	if asks {
		options = agreeable(func(string) { asked++ })
	} else {
		args = append(args, "--allow-writes")
	}
	session := connect(t, h.command("gauze", args...), version, options)
	listed := map[string]bool{}
	all, err := session.ListTools(patience.Context(t), nil)
	if err != nil || len(all.Tools) != 6 {
		t.Fatalf("%v %v", all, err)
	}
	for _, tool := range all.Tools {
		listed[tool.Name] = true
	}
	agree := func(tool string, arguments object) (data object, text string) {
		if !listed[tool] {
			t.Fatalf("%s is not listed", tool)
		}
		for range 6 {
			data, text = callTool(t, session, tool, arguments)
			if data["status"] != "needs_consent" {
				return data, text
			}
			asked++
			arguments = maps.Clone(arguments)
			arguments["consent"] = data["consent"]
		}
		t.Fatalf("%s asks for ever: %s", tool, text)
		return nil, ""
	}

	_, text := agree("list_servers", object{"client": "claude-code"})
	for _, want := range []string{"trailing-comma", "wrong-top-level-key"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	data, text := agree("heal_server", object{"client": "claude-code"})
	if data["status"] != "done" {
		t.Fatalf("%s", text)
	}
	if asked != 3 { // to repair the file, to run what is in it, to save what helped
		t.Errorf("asked %d times", asked)
	}
	data, text = agree("check_health", object{"client": "claude-code", "include_project": true})
	for _, s := range data["servers"].([]any) {
		if s.(object)["state"] != "healthy" {
			t.Errorf("%s", text)
		}
	}

	// What the client does with the file now.
	file, err := os.ReadFile(filepath.Join(h.dir, "project/.mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Servers map[string]struct {
			Type, Command, URL string
			Args               []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(file, &config); err != nil || len(config.Servers) != 3 {
		t.Fatalf("%v\n%s", err, file)
	}
	for _, name := range []string{"clock", "notes"} {
		entry := config.Servers[name]
		server, err := tryToConnect(t, h.command(entry.Command, entry.Args...), version, nil)
		for limit := patience.Context(t); err != nil && limit.Err() == nil; { // a busy machine is slower than the deadline for initialize
			server, err = tryToConnect(t, h.command(entry.Command, entry.Args...), version, nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, text := callTool(t, server, "echo", object{"text": "tick"}); text != "tick" {
			t.Errorf("%s: %s", name, text)
		}
	}
	if config.Servers["web"].Type != "http" || config.Servers["web"].URL != web.URL() {
		t.Errorf("%s", file)
	}
	remote, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: config.Servers["web"].URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if _, err := remote.ListTools(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

// mcpProcess is a gauze mcp process with its pipes.
func mcpProcess(t *testing.T, h agentHome, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser, stderr *lockedBuffer) {
	t.Helper()
	cmd = h.command("gauze", append([]string{"mcp"}, args...)...)
	stderr = &lockedBuffer{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	return cmd, in, out, stderr
}

const helloAgent = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// A client that pipes a few lines into it gets all responses, and nothing else.
func TestMCPAnswersWhatWasAskedBeforeTheEnd(t *testing.T) {
	t.Parallel()
	h := newAgentHome(t)
	h.program("bin/clock")
	h.write(".cursor/mcp.json", `{"mcpServers": {"clock": {"command": "`+h.dir+`/bin/clock"}}}`)
	cmd, in, out, stderr := mcpProcess(t, h)
	io.WriteString(in, helloAgent+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"check_health","arguments":{"clients":["cursor"]}}}
{"jsonrpc":"2.0","id":4,"method":"ping"}
`)
	in.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.String() != "" {
		t.Errorf("%v %q", err, stderr)
	}
	ids := map[float64]bool{}
	for line := range bytes.Lines(text) {
		var m struct {
			ID     float64
			Result json.RawMessage
		}
		if json.Unmarshal(line, &m) != nil || m.Result == nil {
			t.Errorf("%.300s", line)
		}
		ids[m.ID] = true
		if m.ID == 3 && !bytes.Contains(line, []byte(`"state":"healthy"`)) {
			t.Errorf("%s", line)
		}
	}
	if len(ids) != 4 {
		t.Errorf("answered %v", ids)
	}
}

// A server that is being tested never outlives gauze.
func TestMCPLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, io.Closer){
		"end of input": func(_ *exec.Cmd, in io.Closer) { in.Close() },
		"SIGTERM":      func(cmd *exec.Cmd, _ io.Closer) { cmd.Process.Signal(syscall.SIGTERM) },
		"two signals": func(cmd *exec.Cmd, _ io.Closer) { // of different kinds: equal ones may arrive as one
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Process.Signal(syscall.SIGINT)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAgentHome(t)
			fifo := filepath.Join(h.dir, "alive")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			// It holds the pipe while it runs, prints nothing and ignores SIGTERM.
			h.write("bin/deaf", "#!/bin/sh\ntrap '' TERM\nexec 3>'"+fifo+"'\necho up >&3\nwhile :; do sleep 1; done\n")
			h.write(".cursor/mcp.json", `{"mcpServers": {"deaf": {"command": "`+h.dir+`/bin/deaf"}}}`)
			cmd, in, _, _ := mcpProcess(t, h)
			io.WriteString(in, helloAgent+`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"test_connection","arguments":{"name":"cursor/deaf","timeout_seconds":600}}}`+"\n")
			alive, err := os.Open(fifo)
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			if _, err := io.ReadFull(alive, make([]byte, len("up\n"))); err != nil {
				t.Fatal(err)
			}
			end(cmd, in)
			gone := make(chan error, 1)
			go func() { _, err := io.Copy(io.Discard, alive); gone <- err }()
			select {
			case <-gone:
			case <-time.After(patience.Limit()):
				t.Error("the server lives on")
			}
			cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 0 {
				t.Errorf("gauze mcp ended with %d", status)
			}
		})
	}
}

// A client that no longer reads is gone. gauze ends by itself, so that it can save tasks and stop
// servers, and is not killed by the signal.
func TestMCPEndsWithoutAReader(t *testing.T) {
	t.Parallel()
	cmd, in, out, _ := mcpProcess(t, newAgentHome(t))
	out.Close()
	io.WriteString(in, helloAgent)
	in.Close()
	cmd.Wait()
	if status := cmd.ProcessState; !status.Exited() {
		t.Errorf("gauze mcp ended with %v", status)
	}
}

func TestMCPNeedsAProjectThatIsThere(t *testing.T) {
	t.Parallel()
	said, err := newAgentHome(t).command("gauze", "mcp", "--project", "/nowhere").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "/nowhere") {
		t.Errorf("%v %s", err, said)
	}
}
