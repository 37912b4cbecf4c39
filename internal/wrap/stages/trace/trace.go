// Package trace is the stage that follows tool calls: trace context in _meta, and what a Tracer makes of
// them, such as spans.
package trace

import (
	"bytes"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Tracer follows tool calls. Its methods and those of its traces must not block and must not call the
// session.
type Tracer interface {
	// Begin is called when a tool call arrives. It returns nil if the call is not followed: then it
	// is passed on unchanged.
	Begin(Call) Trace
}

// Call is a tool call that arrived.
type Call struct {
	Server      string // Server is the name of the server.
	Session     string // Session is the id of the client's session; empty: it has none.
	ID          string // ID is the client's request id, as JSON.
	Time        time.Time
	Traceparent string // Traceparent is from the _meta of the request; empty: it has none.
	Tracestate  string
}

// Trace follows one tool call.
type Trace interface {
	Traceparent() string  // Traceparent is what the server receives in _meta.
	Event(event.Event)    // Event is something that gauze did about the call.
	End(kernel.EndedCall) // End is called once. Events may still follow.
}

// Stage follows the tool calls of one session.
type Stage struct {
	kernel.Bystander
	Tracer  Tracer
	Server  string
	Session string
}

var traceOf = kernel.NewSlot[Trace]()

// Arrive begins a trace, and tells the server which trace its call is part of.
func (s *Stage) Arrive(c *kernel.Call) kernel.Ruling {
	if !c.IsTool() {
		return kernel.Pass
	}
	params := bytes.TrimSpace(c.Params())
	meta, err := wire.Field(c.Params(), "_meta")
	if err != nil {
		return kernel.Pass
	}
	var given [2][]byte
	if wire.Fields(meta, given[:], "traceparent", "tracestate") != nil {
		return kernel.Pass
	}
	about := Call{Server: s.Server, Session: s.Session, ID: string(c.ID()), Time: c.Arrived()}
	about.Traceparent, _ = wire.Text(given[0])
	about.Tracestate, _ = wire.Text(given[1])
	trace := s.Tracer.Begin(about)
	if trace == nil {
		return kernel.Pass
	}
	traceOf.Keep(c, trace)
	isObject := len(params) > 0 && params[0] == '{' && (meta == nil || meta[0] == '{')
	if !isObject {
		return kernel.Pass // the server has to reject it as it is
	}
	value := []byte(`"` + trace.Traceparent() + `"`)
	if given[0] != nil {
		return kernel.Rewrite(wire.Edit{Old: given[0], New: value})
	}
	return kernel.Rewrite(wire.Edit{Old: params, New: kernel.WithMeta(params, "traceparent", value)})
}

// Event tells the trace what is reported about its call.
func (s *Stage) Event(c *kernel.Call, e event.Event) {
	if c != nil {
		if trace := traceOf.Of(c); trace != nil {
			trace.Event(e)
		}
	}
}

// End ends the trace.
func (s *Stage) End(c *kernel.Call, e *kernel.EndedCall) {
	if trace := traceOf.Of(c); trace != nil {
		trace.End(*e)
	}
}
