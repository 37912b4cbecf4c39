// Package event reports what happens to a server and its calls. gauze.Options.OnEvent receives an
// [Event]; [Event.String] and [Event.Log] show it without secrets.
package event

// The files of this package:
//
//	event.go    Event and its one-line form
//	model.go    Consultation: a question to a model
//	kind.go     the kinds of event
//	log.go      an event as a record of a log
//	stream.go   Stream, which delivers events without blocking the sender

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Event is something that happened to the server or to a call. Fields that do not apply are zero.
type Event struct {
	Seq        uint64        // counts from 1; a gap means that the reader was too slow and missed events
	Time       time.Time     // when it happened
	Kind       Kind          // what happened
	Server     string        // name of the server
	Generation int           // counts the server's processes or connections, from 1
	Method     string        // MCP method of the call
	Tool       string        // name of the tool that was called
	From, To   string        // health.State before and after HealthChanged; To is the verdict of Judged
	Code       fault.Code    // of the fault that the call was answered with
	Cause      fault.Cause   // why the server failed, if that is known
	Reason     string        // why the server ended in Died: one word, such as exit, signal or hung
	Detail     string        // free text, which may quote the server
	Output     []string      // last lines that the server wrote to stderr before it failed, in Died
	Took       time.Duration // how long it took
	Count      int           // of attempts, restarts or messages, depending on Kind
	PID        int           // process ID of the server
	Task       string        // id of the task that uses the server, if one does
	Model      *Consultation // question to a model, or nil; Took is how long its answer took

	Client  string        // name with which the client introduced itself
	Call    CallID        // call that the event is about; 0 if there is none
	Changes []Change      // what gauze changed in the arguments
	Told    string        // what gauze added to the response for the caller's model
	Without time.Duration // when the call would have failed without gauze; 0: it would not have, or that is not known
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
	Path   string `json:"path"`             // place in the arguments, as in receipts, such as filter.limit
	Rule   string `json:"rule"`             // name of the rule
	Reason string `json:"reason,omitempty"` // why the rule applies
	Before string `json:"before,omitempty"` // value that was sent, as JSON, secrets masked; empty: not recorded, or absent
	After  string `json:"after,omitempty"`  // value that the server received
}

// Quoted returns e with every text cleaned and redacted, so that it is safe to show.
func (e Event) Quoted() Event {
	for _, text := range []*string{&e.Server, &e.Method, &e.Tool, &e.From, &e.To, &e.Reason, &e.Detail, &e.Client, &e.Told} {
		*text = redact.Quote(*text)
	}
	e.Output = slices.Clone(e.Output)
	for i, line := range e.Output {
		e.Output[i] = redact.Quote(line)
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
