package logintest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// mcp is a small MCP server without state: the tools whoami, echo and write, and tokenless, whose
// result says that the token has expired.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version   string          `json:"protocolVersion"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	entry := Request{Kind: "mcp", Method: r.Method, Status: 200}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			http.Error(w, "not JSON", 400)
			return
		}
		entry.Method = message.Method
	}
	status, challenge := s.admit(r, message.Params.Name)
	entry.Person = s.person(r)
	switch {
	case status != 200:
		entry.Status = status
		w.Header().Set("WWW-Authenticate", challenge)
		text := http.StatusText(status)
		if s.now().Echo {
			text += ": " + r.Header.Get("Authorization")
		}
		http.Error(w, text, status)
	case r.Method == http.MethodDelete:
		w.WriteHeader(200)
	case r.Method != http.MethodPost:
		entry.Status = http.StatusMethodNotAllowed
		http.Error(w, "no stream here", entry.Status)
	case message.ID == nil:
		entry.Status = http.StatusAccepted
		w.WriteHeader(entry.Status)
	default:
		if s.now().Echo && message.Method == "tools/list" {
			reply(w, 200, map[string]any{"jsonrpc": "2.0", "id": message.ID, "error": map[string]any{"code": -32000, "message": "no tools for " + r.Header.Get("Authorization")}})
			break
		}
		result, problem := s.result(entry.Person, message.Method, message.Params.Version, message.Params.Name, message.Params.Arguments)
		answer := map[string]any{"jsonrpc": "2.0", "id": message.ID}
		if problem != nil {
			answer["error"] = problem
		} else {
			answer["result"] = result
		}
		if message.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "session-1")
		}
		reply(w, 200, answer)
	}
	s.note(entry)
}

// admit checks the token of a request for a tool.
func (s *Server) admit(r *http.Request, tool string) (status int, challenge string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.config
	if c.Open && (tool == "" || tool != c.Forbidden) {
		return 200, ""
	}
	at := ""
	if !c.NoMetadata {
		at = fmt.Sprintf(", resource_metadata=%q", s.URL+"/.well-known/oauth-protected-resource/mcp")
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, valid := s.access[token]
	need := c.ToolScopes[tool]
	switch {
	case !ok:
		challenge = `Bearer realm="test"` + at
		if len(c.Scopes) > 0 {
			challenge += fmt.Sprintf(", scope=%q", strings.Join(c.Scopes, " "))
		}
		return http.StatusUnauthorized, challenge
	case !valid, *g.over, tool != "" && tool == c.Forbidden, time.Now().After(g.expires), g.resource != "" && g.resource != s.MCP():
		return http.StatusUnauthorized, `Bearer error="invalid_token", error_description="the token is not valid"` + at
	case need != "" && !slices.Contains(g.scopes, need):
		return http.StatusForbidden, fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, need) + at
	}
	return 200, ""
}

// person returns who logged in to get the token of a request.
func (s *Server) person(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")].person
}

// result answers a request of a person.
func (s *Server) result(person, method, version, tool string, arguments json.RawMessage) (result, problem any) {
	text := func(text string, isError bool) any {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": isError}
	}
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "logintest", "version": "1"}}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		var tools []any
		for _, name := range []string{"whoami", "echo", "write", "tokenless"} {
			tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}, "annotations": map[string]any{"readOnlyHint": name != "write"}})
		}
		return map[string]any{"tools": tools}, nil
	case "tools/call":
		switch tool {
		case "whoami":
			return text("you are "+cmp.Or(person, s.now().Who), false), nil
		case "echo", "write":
			return text(string(arguments), false), nil
		case "tokenless":
			return text("Error 401: the access token has expired", true), nil
		}
		return nil, map[string]any{"code": -32602, "message": "unknown tool: " + tool}
	}
	return nil, map[string]any{"code": -32601, "message": "method not found: " + method}
}
