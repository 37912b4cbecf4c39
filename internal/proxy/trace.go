package proxy

import (
	"bytes"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Tracer follows tool calls. Its methods and those of its traces must not block and must not call the
// session.
type Tracer interface {
	// Begin is called when a tool call arrives. It returns nil if the call is not followed: then it
	// is passed on unchanged.
	Begin(TracedCall) Trace
}

// TracedCall is a tool call that arrived.
type TracedCall struct {
	Server      string // Server is the name of the server.
	Session     string // Session is the id of the client's session; empty: it has none.
	ID          string // ID is the client's request id, as JSON.
	Time        time.Time
	Traceparent string // Traceparent is from the _meta of the request; empty: it has none.
	Tracestate  string
}

// Trace follows one tool call.
type Trace interface {
	Traceparent() string // Traceparent is what the server receives in _meta.
	Event(event.Event)   // Event is something that gauze did about the call.
	End(EndedCall)       // End is called once. Events may still follow.
}

// beginTrace follows a new call if the user configured that, and tells the server which trace it is
// part of.
func (s *Session) beginTrace(c *call) {
	if s.Tracer == nil || c.msg.Method != "tools/call" {
		return
	}
	meta, err := wire.Field(c.msg.Params, "_meta")
	if err != nil {
		return
	}
	var given [2][]byte
	if wire.Fields(meta, given[:], "traceparent", "tracestate") != nil {
		return
	}
	about := TracedCall{Server: s.Name, Session: s.SessionID, ID: string(c.id), Time: c.arrived}
	about.Traceparent, _ = wire.Text(given[0])
	about.Tracestate, _ = wire.Text(given[1])
	if c.trace = s.Tracer.Begin(about); c.trace == nil {
		return
	}
	value := []byte(`"` + c.trace.Traceparent() + `"`)
	params := bytes.TrimSpace(c.msg.Params)
	if len(params) == 0 || params[0] != '{' || meta != nil && meta[0] != '{' {
		return // the server has to reject it as it is
	}
	edit := wire.Edit{Old: given[0], New: value}
	if given[0] == nil {
		edit = wire.Edit{Old: params, New: withMeta(params, "traceparent", value)}
	}
	m, _, err := wire.Scan(wire.Replace(nil, c.msg.Raw, edit))
	if err != nil {
		return
	}
	c.msg, *c.room = m.Keep((*c.room)[:0])
	c.id = c.msg.ID
}

// endTrace ends the trace of a call that is rejected before it is counted.
func (c *call) endTrace(code fault.Code) {
	if c.trace != nil {
		c.trace.End(EndedCall{Time: c.arrived, Tool: c.tool, Client: c.client, Outcome: string(code)})
	}
}
