package kernel

import (
	"bytes"
	"slices"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// memory is what is needed to restore a session on a new process: what the client sent and the
// server accepted.
type memory struct {
	legacy     bool
	initialize []byte // params of the client's own initialize
	version    string // raw, from the server's answer
	greeting   []byte // the client's notifications/initialized; nil: not sent yet

	modern   bool
	discover []byte // params of the client's server/discover, nil if it sent none
	meta     []byte // _meta of its last accepted request

	level         []byte            // params of the last logging/setLevel
	subscriptions map[string][]byte // params of resources/subscribe by raw uri
	order         []string          // of subscriptions
	rootsChanged  bool              // announced while the server was down
}

// known reports whether the era is known.
func (m *memory) known() bool { return m.legacy || m.modern }

// learn remembers a request that the server accepted.
func (s *Session) learn(c *Call, result []byte) {
	m := &s.memory
	params := bytes.Clone(c.msg.Params) // the call's buffer is reused
	switch c.msg.Method {
	case "initialize":
		m.legacy, m.modern = true, false
		m.initialize = params
		version, _ := wire.Field(result, "protocolVersion")
		m.version = string(version)
	case "server/discover":
		m.discover = params
	case "logging/setLevel":
		m.level = params
	case "resources/subscribe":
		uri, _ := wire.Field(params, "uri")
		if key := string(uri); m.subscriptions[key] == nil {
			m.order = append(m.order, key)
			m.subscriptions[key] = params
		}
	case "resources/unsubscribe":
		uri, _ := wire.Field(params, "uri")
		m.unsubscribe(string(uri))
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		if c.conn == nil || c.conn == s.link.conn { // not a server that was replaced meanwhile
			s.catalog.learn(c.msg.Method, cursorOf(params), result)
			s.catalog.settle(c)
		}
	}
	if c.modern && c.msg.Method != "initialize" {
		m.modern, m.legacy = true, false
		if c.msg.Method != "tools/call" || m.meta == nil {
			if meta, _ := wire.Field(params, "_meta"); meta != nil {
				m.meta = withoutToken(meta)
			}
		}
	}
}

func (m *memory) unsubscribe(uri string) {
	delete(m.subscriptions, uri)
	if i := slices.Index(m.order, uri); i >= 0 {
		m.order = slices.Concat(m.order[:i], m.order[i+1:]) // a restore may be reading the old one
	}
}

// cursorOf returns the raw cursor of a list request, empty for the first page.
func cursorOf(params []byte) string {
	cursor, _ := wire.Field(params, "cursor")
	if string(cursor) == "null" {
		return ""
	}
	return string(cursor)
}

// withoutToken returns a copy of a _meta without its progress token, which belongs to one request.
func withoutToken(meta []byte) []byte {
	token, err := wire.Field(meta, "progressToken")
	if err != nil {
		return nil
	}
	if token == nil {
		return bytes.Clone(meta)
	}
	return wire.Without(meta, token)
}
