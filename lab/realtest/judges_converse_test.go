//go:build linux

package realtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// converse lets the client call echo of one server, as often as talk wants, in one session.
func (h *house) converse(server string, talk func(echo func(want string))) {
	h.t.Helper()
	session := h.converseCodex
	if h.client == realparts.ClaudeCode {
		session = h.converseClaudeCode
	}
	err := session(server, func(use func(call) (string, error)) {
		talk(func(want string) {
			h.t.Helper()
			if got, err := use(everything.read); err != nil || !strings.Contains(got, want) {
				h.t.Fatalf("%s, %s: %q, %v, want %q", h.client, server, got, err, want)
			}
		})
	})
	if err != nil {
		h.t.Errorf("%s: %v", h.client, err)
	}
}

// converseCodex: Codex's own apps can call a tool themselves. The model of the thread is never asked.
func (h *house) converseCodex(server string, talk func(use func(call) (string, error))) error {
	return h.withCodex(func(request codexRequest) error {
		var started struct{ Thread struct{ ID string } }
		err := request("thread/start", map[string]any{"ephemeral": true, "modelProvider": "none",
			"config": map[string]any{"model_providers": map[string]any{"none": map[string]any{"name": "none", "base_url": h.web.URL}}}}, &started)
		if err != nil {
			return err
		}
		talk(func(c call) (string, error) {
			var result json.RawMessage
			err := request("mcpServer/tool/call", map[string]any{"threadId": started.Thread.ID, "server": server, "tool": c.tool, "arguments": c.args}, &result)
			return string(result), err
		})
		return nil
	})
}

// converseClaudeCode: Claude Code calls what its model wants.
func (h *house) converseClaudeCode(server string, talk func(use func(call) (string, error))) error {
	model := &toolModel{server: "mcp__" + server + "__", wanted: make(chan call), results: make(chan string)}
	web := httptest.NewServer(model)
	defer web.Close()
	finish := sync.OnceFunc(func() { close(model.wanted) })
	defer finish() // or web.Close would wait for a call that a failed test no longer makes
	ended := make(chan error, 1)
	go func() {
		out, errs, err := h.runWith([]string{"ANTHROPIC_BASE_URL=" + web.URL, "ANTHROPIC_API_KEY=none", "ENABLE_TOOL_SEARCH=false"},
			"--print", "Say nothing.", "--no-session-persistence", "--tools", "", "--allowedTools", "mcp__"+server)
		if err != nil {
			err = fmt.Errorf("%w\n%s%s", err, out, errs)
		}
		ended <- err
	}()
	talk(func(c call) (string, error) {
		for {
			select {
			case model.wanted <- c:
			case result := <-model.results:
				return result, nil
			case err := <-ended:
				ended <- err
				return "", errors.Join(errors.New("it ended"), err)
			}
		}
	})
	finish()
	return <-ended
}

// toolModel is a language model that calls the tools of one server.
type toolModel struct {
	server  string // how the names of its tools begin
	wanted  chan call
	results chan string
}

func (m *toolModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	block, delta, reason := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": "nothing"}, "end_turn"
	if slices.ContainsFunc(request.Tools, func(tool struct{ Name string }) bool { return strings.HasPrefix(tool.Name, m.server) }) {
		if last := string(request.Messages[len(request.Messages)-1].Content); strings.Contains(last, `"tool_result"`) {
			select {
			case m.results <- last:
			case <-r.Context().Done(): // the client was stopped
			}
		}
		if c, ok := <-m.wanted; ok {
			args, _ := json.Marshal(c.args)
			block = map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", len(request.Messages)), "name": m.server + c.tool, "input": struct{}{}}
			delta, reason = map[string]any{"type": "input_json_delta", "partial_json": string(args)}, "tool_use"
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []map[string]any{
		{"type": "message_start", "message": map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "none", "content": []any{},
			"usage": map[string]int{"input_tokens": 1, "output_tokens": 1}}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}, "usage": map[string]int{"output_tokens": 1}},
		{"type": "message_stop"},
	} {
		text, _ := json.Marshal(event)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], text)
	}
}
