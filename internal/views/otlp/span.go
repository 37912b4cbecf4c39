package otlp

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

const (
	maxEvents   = 32  // of a span
	maxTextLen  = 200 // bytes
	maxStateLen = 512 // bytes of tracestate
	kindServer  = 2
	statusError = 2
	sampled     = 1
)

// Outcomes of a proxy.EndedCall. The others are cancelled and the codes of faults.
const (
	outcomeOK    = "ok"
	outcomeError = "error"
)

// tracer makes a span of each tool call.
type tracer struct{ *Exporter }

// Begin begins the span of a call. A call of a trace that its client does not record is not recorded
// either.
func (t tracer) Begin(c proxy.TracedCall) proxy.Trace {
	s := &span{to: t.Exporter, call: c}
	parent, isSampled, valid := parseTraceparent(c.Traceparent)
	switch {
	case !valid:
		random(s.context.trace[:])
	case !isSampled:
		return nil
	default:
		s.context.trace, s.parent = parent.trace, parent.span[:]
		if len(c.Tracestate) <= maxStateLen && plaintext.Clean(c.Tracestate) == c.Tracestate {
			s.state = c.Tracestate
		}
	}
	random(s.context.span[:])
	return s
}

// traceContext identifies a span.
type traceContext struct {
	trace [16]byte
	span  [8]byte
}

// parseTraceparent reads a traceparent (W3C Trace Context, section 3.2). Only later versions may have
// more fields, and version ff is invalid.
func parseTraceparent(text string) (c traceContext, isSampled, valid bool) {
	parts := strings.Split(text, "-")
	wrongFields := len(parts) < 4 || parts[0] == "00" && len(parts) > 4
	if wrongFields || parts[0] == "ff" || text != strings.ToLower(text) {
		return c, false, false
	}
	var version, flags [1]byte
	for _, field := range []struct {
		to   []byte
		text string
	}{{version[:], parts[0]}, {c.trace[:], parts[1]}, {c.span[:], parts[2]}, {flags[:], parts[3]}} {
		if len(field.text) != 2*len(field.to) {
			return c, false, false
		}
		if _, err := hex.Decode(field.to, []byte(field.text)); err != nil {
			return c, false, false
		}
	}
	return c, flags[0]&sampled != 0, c.trace != [16]byte{} && c.span != [8]byte{}
}

func (c traceContext) String() string {
	return "00-" + hex.EncodeToString(c.trace[:]) + "-" + hex.EncodeToString(c.span[:]) + "-01"
}

// random fills b, which is never all zero.
func random(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	b[0] |= 1
}

// span is the span of one call.
type span struct {
	to      *Exporter
	call    proxy.TracedCall
	context traceContext
	parent  []byte
	state   string

	mu     sync.Mutex
	events [][]byte
	ended  bool
}

// Traceparent returns the context for the server.
func (s *span) Traceparent() string { return s.context.String() }

// Event adds what gauze did about the call: its kind, the code of a fault, and the rules of a repair.
func (s *span) Event(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.events) >= maxEvents {
		return
	}
	var m message
	m.time(1, time.Now())
	m.text(2, "gauze."+string(e.Kind))
	if e.Code != "" {
		m.attribute(3, "error.type", string(e.Code))
	}
	var rules []string
	for _, change := range e.Changes {
		rules = append(rules, change.Rule)
	}
	if rules != nil {
		m.attribute(3, "gauze.rules", text(strings.Join(rules, ", ")))
	}
	s.events = append(s.events, m)
}

// End queues the span. It never blocks.
func (s *span) End(c proxy.EndedCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	tool := text(c.Tool)
	var m message
	m.bytes(1, s.context.trace[:])
	m.bytes(2, s.context.span[:])
	if s.state != "" {
		m.text(3, s.state)
	}
	if s.parent != nil {
		m.bytes(4, s.parent)
	}
	m.text(5, strings.TrimSpace("tools/call "+tool))
	m.number(6, kindServer)
	m.time(7, s.call.Time)
	m.time(8, s.call.Time.Add(c.Took))
	for _, a := range [][2]string{
		{"mcp.method.name", "tools/call"}, {"gen_ai.operation.name", "execute_tool"}, {"gen_ai.tool.name", tool},
		{"jsonrpc.request.id", requestID(s.call.ID)}, {"mcp.session.id", s.call.Session}, {"network.transport", s.to.about.Transport}, {"error.type", errorType(c.Outcome)},
		{"gauze.server.name", text(s.call.Server)}, {"gauze.client.name", text(c.Client)}, {"gauze.saved", c.Saved},
	} {
		if a[1] != "" {
			m.attribute(9, a[0], a[1])
		}
	}
	for _, e := range s.events {
		m.bytes(11, e)
	}
	if errorType(c.Outcome) != "" {
		var status message
		status.number(3, statusError)
		m.bytes(15, status)
	}
	m.fixed32(16, sampled)
	select {
	case s.to.spans <- m:
	default: // the collector is too slow, and a call must not wait for it
	}
}

// errorType returns the value of error.type, empty if the call succeeded.
func errorType(outcome string) string {
	switch outcome {
	case outcomeOK:
		return ""
	case outcomeError:
		return "tool_error"
	}
	return outcome
}

// requestID returns the id of a request without quotes.
func requestID(raw string) string {
	var id string
	if json.Unmarshal([]byte(raw), &id) != nil {
		id = raw
	}
	return text(id)
}

func text(s string) string { return plaintext.Cap(redact.Quote(s), maxTextLen) }
