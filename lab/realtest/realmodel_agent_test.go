//go:build linux && realmodel

package realtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// A real model with 1.5 billion parameters gets the tools that gauze mcp lists by default, a .mcp.json that
// no client can read, with three broken entries, and a user who agrees to every question. It must find a
// call that gauze understands, and what it does leaves the file healed or as it was; whether it heals it
// is reported, because that depends on the model.
func TestRealModelHealsAProjectWithTheTools(t *testing.T) {
	w := newBrokenProject(t)
	before := w.file()
	session := w.connect()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	agent := &toolLoop{t: t, session: session, tools: functionsOf(listed.Tools)}
	agent.say("system", "You repair MCP servers with tools. Call one tool at a time, read its result and follow its next step. When all servers are healthy, answer with the word FINISHED and no tool call.")
	agent.say("user", "The MCP servers of this project do not work. Repair them, then check that they are healthy.")
	const maxTurns = 6
	for range maxTurns {
		if !agent.turn() {
			break
		}
	}
	if agent.understood == 0 {
		t.Error("none of its calls was understood")
	}
	switch broken := w.broken(); {
	case broken == "":
		t.Logf("healed, with %d calls", agent.calls)
	case w.file() == before:
		t.Logf("not healed, with %d calls", agent.calls)
	default:
		t.Errorf("the file was changed and is not healed: %s", broken)
	}
}

// brokenProject is a home with a project whose .mcp.json is broken.
type brokenProject struct {
	t    *testing.T
	home string
}

func newBrokenProject(t *testing.T) brokenProject {
	t.Helper()
	home, err := os.MkdirTemp("", "gauze") // a short name: a long one looks like a key
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	server, err := programs.Faulty.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := brokenProject{t, home}
	for _, name := range []string{".local/bin/clock", "bin/notes", "bin/files"} { // the first is not on the PATH
		w.write(name, "#!/bin/sh\nexec '"+server+"'\n")
	}
	w.write("project/.mcp.json", `{
  "servers": {
    "clock": {"cmd": "clock", "args": []},
    "notes": {"cmd": "`+home+`/bin/notes"},
    "files": {"command": "`+home+`/bin/files", "args": "--all"},
  }
}
`)
	return w
}

func (w brokenProject) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// command returns a command of the project's user.
func (w brokenProject) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(w.home, "project")
	cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_STATE_HOME="+w.home+"/state", "GAUZE_STATE_DIR="+w.home+"/state", "XDG_CONFIG_HOME=", "SHELL=/bin/sh", "GAUZE_MODEL=", "GAUZE_BIN="+gauzeBinary())
	return cmd
}

// connect starts gauze mcp for a client whose user agrees to every question.
func (w brokenProject) connect() *mcp.ClientSession {
	w.t.Helper()
	options := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"agree": true}}, nil
	}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, options).Connect(w.t.Context(),
		&mcp.CommandTransport{Command: w.command(gauzeBinary(), "mcp")}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { session.Close() })
	return session
}

func (w brokenProject) file() string {
	w.t.Helper()
	file, err := os.ReadFile(filepath.Join(w.home, "project/.mcp.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(file)
}

// broken says what is still wrong with the project's file or its servers, or "".
func (w brokenProject) broken() string {
	w.t.Helper()
	file := w.file()
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(file), &config); err != nil || len(config.Servers) != 3 {
		return fmt.Sprintf("%v\n%s", err, file)
	}
	for name, entry := range config.Servers {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(w.t.Context(), &mcp.CommandTransport{Command: w.command(entry.Command, entry.Args...)}, nil)
		if err != nil {
			return fmt.Sprintf("%s: %v\n%s", name, err, file)
		}
		session.Close()
	}
	return ""
}

// toolLoop is a model that calls tools until it has nothing more to call.
type toolLoop struct {
	t          *testing.T
	session    *mcp.ClientSession
	tools      []map[string]any
	messages   []map[string]any
	calls      int
	understood int // calls that were not errors
}

// functionsOf returns tools as the API of models expects them.
func functionsOf(tools []*mcp.Tool) (all []map[string]any) {
	for _, tool := range tools {
		all = append(all, map[string]any{"type": "function", "function": map[string]any{"name": tool.Name, "description": tool.Description, "parameters": tool.InputSchema}})
	}
	return all
}

func (l *toolLoop) say(role, text string) {
	l.messages = append(l.messages, map[string]any{"role": role, "content": text})
}

// toolCall is a call that a model wrote.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// turn asks the model once and makes the call that it answers with. It reports whether there was one.
func (l *toolLoop) turn() bool {
	l.t.Helper()
	begin := time.Now()
	text, call := l.ask()
	l.t.Logf("the model, after %s: %s", time.Since(begin).Round(time.Second), text)
	if call == nil {
		return false
	}
	l.calls++
	l.say("assistant", fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", call.Name, call.Arguments))
	params := &mcp.CallToolParams{Name: call.Name, Arguments: call.Arguments}
	result, err := l.session.CallTool(l.t.Context(), params)
	said := ""
	if err != nil {
		said = err.Error()
	} else {
		for _, content := range result.Content {
			said += content.(*mcp.TextContent).Text
		}
		if !result.IsError {
			l.understood++
		}
	}
	l.t.Logf("gauze: %s", said)
	l.say("user", "<tool_response>\n"+said+"\n</tool_response>")
	return true
}

// ask returns what the model answers, and the call in it.
func (l *toolLoop) ask() (text string, call *toolCall) {
	l.t.Helper()
	body, err := json.Marshal(map[string]any{"model": "local", "messages": l.messages, "tools": l.tools, "temperature": 0, "seed": 1, "max_tokens": 200})
	if err != nil {
		l.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, os.Getenv("GAUZE_MODEL_URL")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Choices []struct {
			Message struct {
				Content string
				Calls   []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Error json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		l.t.Fatalf("%v %s", err, answer.Error)
	}
	message := answer.Choices[0].Message
	if len(message.Calls) > 0 {
		f := message.Calls[0].Function
		return f.Name + " " + f.Arguments, &toolCall{f.Name, json.RawMessage(f.Arguments)}
	}
	return message.Content, callIn(message.Content)
}

// callIn returns the first call in an answer that is not marked as one, as small models write it, or nil.
func callIn(text string) *toolCall {
	for at, r := range text {
		var call toolCall
		if r != '{' || json.NewDecoder(strings.NewReader(text[at:])).Decode(&call) != nil || call.Name == "" {
			continue
		}
		if len(call.Arguments) == 0 {
			call.Arguments = json.RawMessage("{}")
		}
		return &call
	}
	return nil
}
