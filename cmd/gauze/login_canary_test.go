//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
)

// secretsOf returns a cage with every token, code, verifier and client secret that a server knows.
func secretsOf(s *logintest.Server) *canaryCage {
	return &canaryCage{all: slices.DeleteFunc(s.Secrets(), func(one string) bool { return one == "" })}
}

// processList records the command lines of all processes until ctx ends.
type processList struct {
	mu   sync.Mutex
	seen map[string]bool
	over sync.WaitGroup
}

func watchProcesses(ctx context.Context) *processList {
	p := &processList{seen: map[string]bool{}}
	p.over.Go(func() {
		for look := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-look.C {
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, file := range files {
				if line, err := os.ReadFile(file); err == nil {
					p.mu.Lock()
					p.seen[strings.ReplaceAll(string(line), "\x00", " ")] = true
					p.mu.Unlock()
				}
			}
		}
	})
	return p
}

func (p *processList) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for line := range p.seen {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// No token, code, verifier or client secret is shown by any command, in any fault, event or answer to
// an agent, in the process list, or in any file but those of the store.
func TestNoTokenIsShownAnywhere(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{Mark: "kNmQ", Who: "ada@example.com", Echo: true, Clients: map[string]string{"robot": "secretkNmQofTheRobot+/=", "app": "secretkNmQofTheApp"}})
	p := newUser(t, s)
	p.environ = append(p.environ, "ROBOT=secretkNmQofTheRobot+/=", "APP=secretkNmQofTheApp")
	p.state = shortState(t)
	p.environ = append(p.environ, "GAUZE_STATE_DIR="+p.state)
	ctx, stop := context.WithCancel(t.Context())
	processes := watchProcesses(ctx)
	var said []string
	run := func(status int, args ...string) {
		t.Helper()
		text, got := p.gauze(args...)
		if got != status {
			t.Errorf("gauze %v: status %d, want %d:\n%s", args, got, status, text)
		}
		said = append(said, text)
		secretsOf(s).wantNone(t, fmt.Sprint("gauze ", args), text)
	}

	run(1, "login", "notes") // the server repeats the token instead of listing tools
	run(1, "test", "--json", s.MCP())
	s.Set(func(c *logintest.Config) { c.Echo = false })
	run(0, "login", "notes")
	run(0, "login", "notes", "--account", "app", "--client-id", "app", "--client-secret-env", "APP")
	run(0, "login", "notes", "--account", "robot", "--client-id", "robot", "--client-secret-env", "ROBOT", "--grant", "client-credentials")
	run(0, "login", "--status")
	run(0, "login", "--status", "--json")
	checkStore(t, p, s)

	w := startRun(t, p.environ, "--name", "notes", "--patience", "1s", "--url", s.MCP())
	call := 1
	ask := func(want string) {
		t.Helper()
		call++
		fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`+"\n", call)
		answer, _ := w.out.ReadString('\n')
		if !strings.Contains(answer, want) {
			t.Errorf("call %d: want %q: %s", call, want, answer)
		}
		said = append(said, answer)
		secretsOf(s).wantNone(t, "an answer of gauze run", answer)
	}
	fmt.Fprintln(w.in, hello)
	w.out.ReadString('\n')
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask("you are ada")
	s.Expire()
	ask("you are ada")
	run(0, "status")
	run(0, "status", "--json")
	s.Set(func(c *logintest.Config) { c.Echo = true })
	s.Fail("/token", logintest.Status(500, ""), logintest.Answer("half of a response"))
	s.Expire()
	ask("you are ada") // the renewal is tried again
	if s.Renewals() < 2 || s.Reused() > 0 {
		t.Errorf("%d renewals, %d reused", s.Renewals(), s.Reused())
	}
	s.Revoke()
	ask("auth-required")
	run(0, "status", "--json")
	w.in.Close()
	w.cmd.Wait()
	secretsOf(s).wantNone(t, "the stderr of gauze run", w.stderr.String())
	run(0, "login", "--status", "--json")

	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"history", "--all"}, {"history", "--json"}} {
		text, _ := p.gauze(args...)
		secretsOf(s).wantNone(t, fmt.Sprint("gauze ", args), text)
	}
	run(1, "doctor", "--json", "cursor/notes")
	agentIsToldToLogIn(t, p, s)
	served := startServeIn(t, p.state, "--no-token", "--account", "app", "--client-id", "app", "--client-secret-env", "HOME", "--url", s.MCP())
	served.post("", hello)
	for _, path := range []string{"/metrics", "/readyz", "/dashboard/"} {
		_, text := get(t, "GET", strings.TrimSuffix(served.url, "/mcp")+path, "")
		secretsOf(s).wantNone(t, path, text)
	}
	secretsOf(s).wantNone(t, "the stderr of gauze serve", served.stop())

	checkStore(t, p, s)
	run(0, "logout", "--all")
	stop()
	processes.over.Wait()
	if list := processes.String(); !strings.Contains(list, "login notes") {
		t.Errorf("the process list was not read: %.500s", list)
	} else {
		secretsOf(s).wantNone(t, "the process list", list)
	}
	if len(secretsOf(s).all) < 15 {
		t.Errorf("only %d canaries", len(secretsOf(s).all))
	}
}

// shortState returns a state directory whose path is short enough for a socket.
func shortState(t *testing.T) string {
	t.Helper()
	state, err := os.MkdirTemp("", "gauze-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	return state
}

// checkStore checks that tokens are in the files of the store, which only the user can read, and in
// no other file of the state directory.
func checkStore(t *testing.T, p *person, s *logintest.Server) {
	t.Helper()
	c, stored := secretsOf(s), 0
	err := filepath.WalkDir(p.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Base(filepath.Dir(path)) != "logins" {
			c.wantNone(t, path, string(text))
			return nil
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if slices.ContainsFunc(c.all, func(one string) bool { return strings.Contains(string(text), one) }) {
			stored++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(p.state, "logins")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of logins: %v %v", info, err)
	}
	if stored == 0 {
		t.Error("no file has a token, so the search finds nothing")
	}
}

// agentIsToldToLogIn calls the tools of gauze mcp that test a server: the user has to log in.
func agentIsToldToLogIn(t *testing.T, p *person, s *logintest.Server) {
	t.Helper()
	session := connect(t, gauzeCommand(p, "mcp"), "2025-06-18", &mcp.ClientOptions{})
	for tool, arguments := range map[string]object{"test_connection": {"server": "cursor/notes"}, "check_health": {"servers": []string{"cursor/notes"}}} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		said, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, string(said), "gauze login", "Tell the user")
		secretsOf(s).wantNone(t, tool, string(said))
	}
}
