// Package event reports what happens to a server and its calls.
//
//	event.go    Event and its one-line form
//	model.go    Consultation: a question to a model
//	kind.go     the kinds of event
//	stream.go   Stream, which delivers events without blocking the sender
package event

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Event is something that happened. Fields that do not apply are zero.
type Event struct {
	Seq        uint64 // Seq counts from 1. A gap means that the reader was too slow.
	Time       time.Time
	Kind       Kind
	Server     string
	Generation int
	Method     string
	Tool       string
	From, To   string // From and To are health states.
	Code       fault.Code
	Cause      fault.Cause // Cause is why the server failed, if that is known.
	Reason     string      // Reason is why a connection ended, from a small set of words such as exit and hung.
	Detail     string      // Detail may quote the server.
	Took       time.Duration
	Count      int
	PID        int
	Task       string        // Task is the id of the task that uses the server; empty without one.
	Model      *Consultation // Model is the question to a model; nil if there was none. Took is how long the answer took.

	Client  string        // Client is the name with which the client introduced itself.
	Call    CallID        // Call is the call that the event is about; 0: none.
	Changes []Change      // Changes are what gauze changed in the arguments.
	Told    string        // Told is what gauze added to the response for the caller's model.
	Without time.Duration // Without is after what time the call would have failed without gauze; 0: it would not have, or that is not known.
}

// CallID identifies a call among all calls of all gauze processes. NewCallID returns the next one.
type CallID uint64

// lastCall begins at a random number, so that processes do not use the same ids.
var lastCall = func() *atomic.Uint64 {
	n := new(atomic.Uint64)
	n.Store(rand.Uint64() >> 8)
	return n
}()

// NewCallID returns an id that no call has.
func NewCallID() CallID { return CallID(lastCall.Add(1)) }

// String returns the id as it is shown, such as 1k2f9qz4.
func (id CallID) String() string { return strconv.FormatUint(uint64(id), 36) }

// Change is one change of a call's arguments.
type Change struct {
	Path   string `json:"path"` // Path is the place in the arguments, as in receipts, such as filter.limit.
	Rule   string `json:"rule"`
	Reason string `json:"reason,omitempty"` // Reason is why the rule applies.
	Before string `json:"before,omitempty"` // Before is the value that was sent, as JSON, secrets masked; empty: not recorded, or absent.
	After  string `json:"after,omitempty"`
}

// Quoted returns e with every text cleaned and redacted, so that it is safe to show.
func (e Event) Quoted() Event {
	for _, text := range []*string{&e.Server, &e.Method, &e.Tool, &e.From, &e.To, &e.Reason, &e.Detail, &e.Client, &e.Told} {
		*text = redact.Quote(*text)
	}
	e.Cause = e.Cause.Shown()
	e.Model = e.Model.quoted()
	e.Changes = slices.Clone(e.Changes)
	for i := range e.Changes {
		c := &e.Changes[i]
		for _, text := range []*string{&c.Path, &c.Reason, &c.Before, &c.After} {
			*text = redact.Quote(*text)
		}
	}
	return e
}

// String formats e as one line that is safe to print on a terminal, such as
// "12:00:01.250 died filesystem g2 pid 4131: signal: killed (3.2s)".
func (e Event) String() string {
	e = e.Quoted()
	var b strings.Builder
	b.WriteString(e.Time.Format("15:04:05.000"))
	word := func(s string) {
		if s != "" {
			b.WriteByte(' ')
			b.WriteString(s)
		}
	}
	word(string(e.Kind))
	word(e.Server)
	if e.Generation > 0 {
		word(fmt.Sprintf("g%d", e.Generation))
	}
	if e.PID > 0 {
		word(fmt.Sprintf("pid %d", e.PID))
	}
	word(e.Method)
	if e.Tool != "" {
		word(fmt.Sprintf("%q", e.Tool))
	}
	if e.From != "" || e.To != "" {
		word(e.From + " -> " + e.To)
	}
	if e.Count > 0 {
		word(fmt.Sprintf("x%d", e.Count))
	}
	word(string(e.Code))
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Cause.Known() {
		b.WriteString(": ")
		b.WriteString(e.Cause.Explanation)
	}
	if e.Model != nil {
		b.WriteString(e.Model.line())
	}
	if e.Took > 0 {
		fmt.Fprintf(&b, " (%s)", rounded(e.Took))
	}
	return b.String()
}

// rounded rounds d to three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Nanosecond; unit <= time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}
