// Package event reports what happens to a server and its calls.
//
//	event.go    Event and its one-line form
//	model.go    Consultation: a question to a model
//	kind.go     the kinds of event
//	stream.go   Stream, which delivers events without blocking the sender
package event

import (
	"fmt"
	"strings"
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
	Detail     string      // Detail may quote the server.
	Took       time.Duration
	Count      int
	PID        int
	Model      *Consultation // Model is the question to a model; nil if there was none. Took is how long the answer took.
}

// Quoted returns e with every text cleaned and redacted, so that it is safe to show.
func (e Event) Quoted() Event {
	for _, text := range []*string{&e.Server, &e.Method, &e.Tool, &e.From, &e.To, &e.Detail} {
		*text = redact.Quote(*text)
	}
	e.Cause = e.Cause.Shown()
	e.Model = e.Model.quoted()
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
