package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
)

// otherProgram names a different gauze, whose questions are counted and only logged.
const otherProgram = "GAUZE_QUESTIONS"

// everyday are ten things that people do, with the number of questions the first and the second time:
// one for each thing that was never seen, none for what was.
var everyday = []struct {
	name          string
	first, second int
	do            func(h agentHome) (questions int, err error)
	ends          string // how it ends the first time, if not with success
}{
	{"wrap all, also a remote one", 2, 0, typed("wrap", "--all"), ""},
	{"doctor", 0, 0, typed("doctor"), "exit status 1"},
	{"doctor --fix", 1, 0, typed("doctor", "--fix", "cursor/broken"), ""},
	{"login", 0, 0, typed("login", "cursor/far"), ""},
	{"add", 1, 0, typed("add", "--client", "cursor", "new", "--", "faultyserver"), ""},
	{"test a project's server", 1, 0, typed("doctor", "claude-code/shared"), ""},
	{"task run of an own file", 1, 0, typed("task", "run", "../tasks/own.yaml"), ""},
	{"an agent heals a server", 1, 0, called("heal_server", object{"server": "cursor/broken"}), ""},
	{"an agent adds a server", 2, 0, called("configure_server", object{"server": "new", "client": "cursor", "command": "faultyserver"}), ""},
	{"lock and verify", 0, 0, func(h agentHome) (int, error) {
		locked, err := typed("lock", "cursor/mine")(h)
		verified, err2 := typed("verify", "cursor/mine")(h)
		return locked + verified, errors.Join(err, err2)
	}, ""},
}

func TestOrdinaryUseIsQuiet(t *testing.T) {
	t.Parallel()
	for _, e := range everyday {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			h := newOwnHome(t)
			far := logintest.New(t, logintest.Config{Who: "ada@example.com"})
			h.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"mine": {"command": "faultyserver"}, "broken": {"command": "faultyserver", "arguments": []}, "far": {"url": %q}}}`, far.MCP()))
			h.write("project/.mcp.json", `{"mcpServers": {"shared": {"command": "faultyserver"}}}`)
			first, err := e.do(h)
			second, _ := e.do(h) // which need not succeed: a server cannot be added twice
			ended := ""
			if err != nil {
				ended = err.Error()
			}
			if ended != e.ends {
				t.Errorf("ended with %q, want %q", ended, e.ends)
			}
			if os.Getenv(otherProgram) != "" {
				t.Logf("%-26s %d %d", e.name, first, second)
			} else if first != e.first || second != e.second {
				t.Errorf("%d questions the first time and %d the second, want %d and %d", first, second, e.first, e.second)
			}
		})
	}
}

// newOwnHome returns a home with a server of the user and a task for it.
func newOwnHome(t *testing.T) agentHome {
	h := newAgentHome(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"mine": {"command": "faultyserver"}}}`)
	h.write("tasks/own.yaml", "servers: {s: cursor/mine}\nsteps: [{id: a, server: s, tool: echo, arguments: {text: hello}}]\n")
	return h
}

// user returns a command of gauze that a user types.
func (h agentHome) user(args ...string) *exec.Cmd {
	h.t.Helper()
	gauze, err := exec.LookPath("gauze")
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := h.command(cmp.Or(os.Getenv(otherProgram), gauze), args...)
	cmd.Env = append(cmd.Env, "GAUZE_BIN="+gauze, "BROWSER=browser", "TERM=dumb")
	return cmd
}

// typed returns a function that runs a command on a terminal and answers yes to every question.
func typed(args ...string) func(agentHome) (int, error) {
	return func(h agentHome) (questions int, err error) {
		said, err := h.agreeing(h.user(args...))
		return strings.Count(said, "[y/N]"), err
	}
}

// agreeing runs a command on a terminal, answers yes to every question and returns what the terminal
// showed.
func (h agentHome) agreeing(cmd *exec.Cmd) (said string, err error) {
	pty := startOnTerminal(h.t, cmd)
	defer pty.Close()
	var all []byte
	buffer := make([]byte, 4096)
	for questions := 0; err == nil; {
		var n int
		n, err = pty.Read(buffer) // until the program has closed the terminal
		all = append(all, buffer[:n]...)
		for ; questions < bytes.Count(all, []byte("[y/N]")); questions++ {
			pty.WriteString("y\n")
		}
	}
	err = cmd.Wait()
	h.t.Logf("%q: %v\n%s", cmd.Args, err, all)
	return string(all), err
}

// What a question is about is on the terminal that shows the question. What a program reads has no
// question in it.
func TestQuestionsAreWhereTheyCanBeRead(t *testing.T) {
	t.Parallel()
	const entry, server = "(?s)claude-code/shared belongs to the project:.*  faultyserver.*  with A=b.*  faultyserver\\s+Start it\\?.*\\[y/N\\]", "claude-code/shared"
	for _, c := range []struct {
		redirect    string
		args        []string
		shown, file string // patterns for the terminal and the file
	}{
		{"2>", []string{"doctor", server}, entry, ""},
		{">", []string{"doctor", server}, entry, "1 of 1 work"},
		{">", []string{"test", "--json", server}, entry, `^\{"works":true`},
		{"2>", []string{"test", "--json", server}, `^$`, "To allow gauze to use it as it is:"},
		{"2>", []string{"task", "run", "../tasks/own.yaml"}, `(?s)1\. a: s echo.*Run this task\?`, ""},
		{">", []string{"task", "run", "--json", "../tasks/own.yaml"}, `(?s)1\. a: s echo.*Run this task\?`, `^\{`},
	} {
		t.Run(fmt.Sprint(c.args, c.redirect), func(t *testing.T) {
			t.Parallel()
			h := newOwnHome(t)
			h.write("project/.mcp.json", `{"mcpServers": {"shared": {"command": "faultyserver", "env": {"A": "b"}}}}`)
			h.write("other", "")
			cmd := h.user(c.args...)
			cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" ` + c.redirect + "../other", cmd.Path}, c.args...)
			cmd.Path = "/bin/sh"
			said, _ := h.agreeing(cmd)
			file, err := os.ReadFile(filepath.Join(h.dir, "other"))
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(c.shown).MatchString(said) || !regexp.MustCompile(c.file).Match(file) || bytes.Contains(file, []byte("[y/N]")) {
				t.Errorf("the terminal shows %q, the file has %q", said, file)
			}
		})
	}
}

// called returns a function that calls a tool of gauze mcp for an agent, whose user agrees to
// everything.
func called(tool string, arguments object) func(agentHome) (int, error) {
	return func(h agentHome) (questions int, err error) {
		session := connect(h.t, h.user("mcp"), "2025-06-18", agreeable(func(question string) {
			questions++
			h.t.Logf("asked: %s", question)
		}))
		defer session.Close()
		result, err := session.CallTool(h.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, c := range result.Content {
			h.t.Logf("%s: %s", tool, c.(*mcp.TextContent).Text)
		}
		if result.IsError {
			return questions, errors.New("the tool failed")
		}
		return questions, nil
	}
}
