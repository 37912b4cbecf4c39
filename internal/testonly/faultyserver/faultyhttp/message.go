package faultyhttp

import (
	"encoding/json"
	"fmt"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerLast    = "Last-Event-ID"

	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	modernVersion = "2026-07-28"
	newestLegacy  = "2025-11-25"
)

// legacyVersions lists the legacy protocol versions, newest first.
var legacyVersions = []string{newestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// message is the JSON-RPC envelope.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	name      string                     // params.name or params.uri, which Mcp-Name must match
	meta      map[string]json.RawMessage // params._meta
	arguments json.RawMessage            // params.arguments
	inputs    json.RawMessage            // params.inputResponses
}

func readMessage(body []byte) (*message, error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	var p struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Meta map[string]json.RawMessage `json:"_meta"`

		Arguments json.RawMessage `json:"arguments"`
		Inputs    json.RawMessage `json:"inputResponses"`
	}
	if len(m.Params) > 0 {
		_ = json.Unmarshal(m.Params, &p) // params that are not an object have none of these
	}
	m.meta, m.arguments, m.inputs = p.Meta, p.Arguments, p.Inputs
	switch m.Method {
	case "tools/call", "prompts/get":
		m.name = p.Name
	case "resources/read":
		m.name = p.URI
	}
	return &m, nil
}

func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }

func (m *message) tool() string {
	if m.Method == "tools/call" {
		return m.name
	}
	return ""
}

// version returns the protocol version of a modern request, and is empty for others.
func (m *message) version() string {
	var version string
	_ = json.Unmarshal(m.meta[metaVersion], &version)
	return version
}

// refusal is a JSON-RPC error and its HTTP status.
type refusal struct {
	status  int
	session bool   // about the session, not the request
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func refuse(status, code int, format string, args ...any) *refusal {
	return &refusal{status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (r *refusal) ofSession() *refusal {
	r.session = true
	return r
}

// object is a JSON object to be written.
type object map[string]any

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // all values can be marshaled
	}
	return b
}

func response(id json.RawMessage, result any) []byte {
	return encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

func refused(id json.RawMessage, no *refusal) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *refusal        `json:"error"`
	}{"2.0", id, no})
}

func notification(method string, params object) []byte {
	m := object{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return encode(m)
}
