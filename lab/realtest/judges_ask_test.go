//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// How each of the clients is asked for its verdict. None needs an account or a network for it.

var claudeLine = regexp.MustCompile(`(?m)^(\S[^:\n]*): .* - (\S) (.*)$`)

// askClaudeCode: its list connects to every server.
func askClaudeCode(h *house) (v verdict, errs []error) {
	out, said, err := h.run("mcp", "list")
	v.said = out + said
	if err != nil {
		return v, []error{err}
	}
	for _, m := range claudeLine.FindAllStringSubmatch(out, -1) {
		v.listed = append(v.listed, m[1])
		if m[3] == "Connected" {
			v.connected = append(v.connected, m[1])
		}
	}
	return v, nil
}

var geminiLine = regexp.MustCompile(`(?m)^\S (\S+): .* - (\S+)$`)

// askGeminiCLI: its list connects to every server, in folders that are trusted.
func askGeminiCLI(h *house) (v verdict, errs []error) {
	out, said, err := h.run("mcp", "list")
	v.said = out + said
	if err != nil {
		return v, []error{err}
	}
	for _, m := range geminiLine.FindAllStringSubmatch(v.said, -1) {
		if strings.Contains(v.said, "Error in: mcpServers."+m[1]) {
			continue // it tries it nevertheless, and tells its user that it is invalid
		}
		v.listed = append(v.listed, m[1])
		if m[2] == "Connected" {
			v.connected = append(v.connected, m[1])
		}
	}
	return v, nil
}

var (
	colours      = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")
	opencodeLine = regexp.MustCompile(`(?m)^●\s+\S (\S+) (\S+)`)
)

// askOpencode: its list connects to every server.
func askOpencode(h *house) (v verdict, errs []error) {
	out, said, err := h.run("mcp", "list")
	v.said = colours.ReplaceAllString(out+said, "")
	if err != nil {
		return v, []error{err}
	}
	for _, m := range opencodeLine.FindAllStringSubmatch(v.said, -1) {
		v.listed = append(v.listed, m[1])
		if m[2] == "connected" {
			v.connected = append(v.connected, m[1])
		}
	}
	return v, nil
}

// askCodex: its list does not connect; the server behind its own apps does.
func askCodex(h *house) (v verdict, errs []error) {
	out, said, err := h.run("mcp", "list", "--json")
	v.said = out + said
	if err != nil {
		return v, []error{err}
	}
	var all []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return v, []error{err}
	}
	for _, s := range all {
		v.listed = append(v.listed, s.Name)
	}
	status, err := h.codexStatus()
	if err != nil {
		return v, []error{err}
	}
	for _, s := range status {
		v.said += s.ToolsError
		if s.ServerInfo != nil {
			v.connected = append(v.connected, s.Name)
		}
	}
	return v, nil
}

// codexServer is one server in the words of Codex.
type codexServer struct {
	Name       string
	ServerInfo *struct{ Name string }
	ToolsError string
}

// codexStatus asks what Codex's own apps ask.
func (h *house) codexStatus() ([]codexServer, error) {
	var status struct{ Data []codexServer }
	err := h.withCodex(func(request codexRequest) error { return request("mcpServerStatus/list", map[string]any{}, &status) })
	return status.Data, err
}

// codexRequest asks the server behind Codex's own apps.
type codexRequest func(method string, params map[string]any, result any) error

// withCodex starts that server for as long as use takes.
func (h *house) withCodex(use func(codexRequest) error) error {
	argv := realparts.NeedClient(h.t, h.client, "app-server")
	fewAtOnce <- struct{}{} // the time to wait for it does not count
	defer func() { <-fewAtOnce }()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience.Limit())
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.project, h.environ, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	messages, answers, id := json.NewEncoder(in), json.NewDecoder(out), 0
	request := func(method string, params map[string]any, result any) error {
		id++
		if err := messages.Encode(map[string]any{"id": id, "method": method, "params": params}); err != nil {
			return err
		}
		for {
			var m struct {
				ID     *int
				Result json.RawMessage
				Error  json.RawMessage
			}
			if err := answers.Decode(&m); err != nil {
				return err
			}
			if m.ID == nil || *m.ID != id {
				continue
			}
			if m.Error != nil {
				return fmt.Errorf("codex app-server: %s", m.Error)
			}
			return json.Unmarshal(m.Result, result)
		}
	}
	if err := request("initialize", map[string]any{"clientInfo": map[string]any{"name": "realtest", "version": "1"}}, &struct{}{}); err != nil {
		return err
	}
	if err := messages.Encode(map[string]any{"method": "initialized"}); err != nil {
		return err
	}
	return use(request)
}

// askCopilotCLI: its list does not connect; a session does, and tells its model of the tools it found.
func askCopilotCLI(h *house) (v verdict, errs []error) {
	out, said, err := h.run("mcp", "list", "--json")
	v.said = out + said
	if err != nil {
		return v, []error{err}
	}
	var all struct{ McpServers map[string]any }
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return v, []error{err}
	}
	for name := range all.McpServers {
		v.listed = append(v.listed, name)
	}
	model := newSilentModel(h.t)
	out, said, err = h.runWith([]string{"COPILOT_PROVIDER_BASE_URL=" + model.URL, "COPILOT_MODEL=silent", "COPILOT_PROVIDER_API_KEY=none"},
		"-p", "Say nothing.", "--disable-builtin-mcps")
	v.said += out + said
	if err != nil {
		return v, []error{err}
	}
	for tool := range model.offered() {
		if name, ok := strings.CutSuffix(tool, "-"+witnessTool); ok {
			v.connected = append(v.connected, name)
		}
	}
	return v, nil
}

// silentModel is a language model that has nothing to say, and remembers which tools it was offered.
type silentModel struct {
	*httptest.Server
	mu    sync.Mutex
	tools map[string]bool
}

func newSilentModel(t *testing.T) *silentModel {
	m := &silentModel{tools: map[string]bool{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *silentModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, tool := range request.Tools {
		m.tools[tool.Function.Name] = true
	}
	w.Header().Set("Content-Type", "text/event-stream")
	const chunk = `{"id":"1","object":"chat.completion.chunk","created":1,"model":"silent","choices":[{"index":0,`
	fmt.Fprintf(w, "data: %s\"delta\":{\"role\":\"assistant\",\"content\":\"nothing\"},\"finish_reason\":null}]}\n\n", chunk)
	fmt.Fprintf(w, "data: %s\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", chunk)
}

func (m *silentModel) offered() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools
}
