//go:build linux

package realtest

import (
	"encoding/json"
	"strings"

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
	s := newScript("mcp__" + server + "__")
	return h.converseScripted(s, (*script).anthropic, talk, func(url string) (string, string, error) {
		return h.runWith([]string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "ENABLE_TOOL_SEARCH=false"},
			"--print", "Say nothing.", "--no-session-persistence", "--tools", "", "--allowedTools", "mcp__"+server)
	})
}
