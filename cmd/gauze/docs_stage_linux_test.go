package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A stage is the machine on which the commands of a page run: a home with clients' files, and programs that stand
// in for npx, uvx, node and two servers.
type stage struct {
	t    *testing.T
	page string
	home string
	env  []string
	real map[string]string // what pages show, and what it is here

	update bool                             // outputs are written, not compared
	wrong  func(format string, args ...any) // reports a block that is not true
}

func newStage(t *testing.T, page string) *stage {
	t.Helper()
	gauze, err := exec.LookPath("gauze")
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	s := &stage{t: t, page: page, home: home, wrong: t.Errorf, real: map[string]string{"/home/you": home, "/usr/local/bin/gauze": gauze}}
	s.env = []string{
		"HOME=" + home, "PATH=" + filepath.Join(home, ".stand-ins") + ":" + os.Getenv("PATH"), "GAUZE_BIN=" + gauze,
		"GAUZE_STATE_DIR=" + filepath.Join(home, ".local/state/gauze"), "GAUZE_KEYRING=off", "GAUZE_NO_UPDATE_NOTICE=1", "GORACE=" + os.Getenv("GORACE"),
	}
	for _, name := range []string{"npx", "uvx", "node", "mcp-notes"} {
		s.program(".stand-ins/"+name, "notes")
	}
	s.program(".local/bin/mcp-server-time", "time") // not on the PATH
	s.write("Library/Logs/Claude/mcp-server-time.log", "spawn mcp-server-time ENOENT\n")
	s.write("token", "kV7wq-2Zr9_pLx4tYb8mNc3dQf6hJs1g")
	if page == "" {
		return s
	}
	s.write(".claude.json", "{\n  \"mcpServers\": {\n    \"search\": { \"url\": \"http://127.0.0.1:9/mcp\" }\n  }\n}\n")
	s.write(".cursor/mcp.json", `{
  "mcpServers": {
    "notes": { "command": "mcp-notes", "env": { "NOTES_TOKEN": "tok-1111-aaaa-2222" } },
    "time": { "command": "mcp-server-time" }
  }
}
`)
	switch page {
	case "docs/see.md":
		s.healed()
	case "docs/model.md":
		s.real["qwen2.5-coder"] = "scripted-1" // as the server calls its model
		s.real["http://127.0.0.1:11434/v1"] = modeltest.OpenAI(t, scriptedModels["answers"]...).URL
	}
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

// program makes a program that is a server.
func (s *stage) program(name, server string) {
	s.t.Helper()
	s.write(name, "#!/bin/sh\nexec docserver "+server+" "+filepath.Join(s.home, "die-once")+"\n")
	if err := os.Chmod(filepath.Join(s.home, name), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// actual returns text of a page as it is here, and asShown text from here as a page shows it.
func (s *stage) actual(text string) string {
	for shown, real := range s.real {
		text = strings.ReplaceAll(text, shown, real)
	}
	return text
}

func (s *stage) asShown(text string) string {
	for shown, real := range s.real {
		text = strings.ReplaceAll(text, real, shown)
	}
	text = regexp.MustCompile(`127\.0\.0\.1:\d{4,5}`).ReplaceAllString(text, "127.0.0.1:7300")
	return regexp.MustCompile(`(Bearer |#code=)[\w.]+`).ReplaceAllString(text, "${1}SECRET")
}

// client is what a client sends that lists the tools.
const client = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"docs","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

func (s *stage) command(line string) *exec.Cmd {
	cmd := exec.CommandContext(patience.Context(s.t), "sh", "-c", "exec "+s.actual(line))
	cmd.Dir, cmd.Env = s.home, s.env
	return cmd
}

// run runs a command and returns what it prints and its exit status.
func (s *stage) run(line string) (out string, status int) {
	s.t.Helper()
	cmd := s.command(line)
	if strings.HasPrefix(line, "gauze run") {
		cmd.Stdin = strings.NewReader(client)
	}
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%s: %v", line, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// listening is in the last line that gauze prints before it serves.
var listening = regexp.MustCompile(`/dashboard/$|Ctrl-C`)

// listenFlag is where a page lets gauze listen.
var listenFlag = regexp.MustCompile(`--listen \S+`)

// serve runs a command that serves, on any free port, stops it, and returns what it printed.
func (s *stage) serve(line string) (out string, err error) {
	s.t.Helper()
	program := untilStopped.FindString(line)
	line = program + " --listen 127.0.0.1:0" + listenFlag.ReplaceAllString(strings.TrimPrefix(line, program), "")
	cmd := s.command(line)
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return "", err
	}
	served := false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		out += lines.Text() + "\n"
		if listening.MatchString(lines.Text()) && !served {
			served, err = true, cmd.Process.Signal(os.Interrupt)
		}
	}
	ended := cmd.Wait() // the signal may end it before it listens for signals
	if !served {
		err = fmt.Errorf("%w\n%s", ended, out)
	}
	return out, err
}

// healed runs a wrap for the rest of the page, whose server has died once during a call.
func (s *stage) healed() {
	s.t.Helper()
	s.write("die-once", "")
	cmd := s.command("gauze run --name notes -- mcp-notes")
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	fmt.Fprint(in, client)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_notes","arguments":{}}}`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if bytes.Contains(lines.Bytes(), []byte(`"id":3`)) {
			break
		}
	}
	for deadline := time.Now().Add(patience.Limit()); time.Now().Before(deadline); {
		if out, _ := s.run("gauze history --json"); strings.Count(out, "\n") >= 2 { // the crash and the call
			return
		}
	}
	s.t.Fatal("the wrap did not record what it healed")
}
