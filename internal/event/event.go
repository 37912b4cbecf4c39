// Package event is the timeline: what happened to a server and its calls, told once, never edited.
//
//	event.go    Event and its one readable line
//	kind.go     the kinds of thing that happen
//	stream.go   Stream: the bounded timeline that never holds up the one who writes it
package event

import (
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Event is something that happened. Fields that do not apply stay zero.
type Event struct {
	Seq        uint64 // counts from 1; a gap tells a reader that it was too slow
	Time       time.Time
	Kind       Kind
	Server     string
	Generation int
	Method     string
	Tool       string
	From, To   string // health
	Code       fault.Code
	Cause      fault.Cause // why the server failed, if that is known
	Detail     string      // may hold foreign text: every voice cleans it
	Took       time.Duration
	Count      int
	PID        int
}

// String is one readable line, harmless to any terminal: "12:00:01.250 died filesystem g2 pid 4131: signal: killed (3.2s)".
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.Time.Format("15:04:05.000"))
	word := func(s string) {
		if s != "" {
			b.WriteByte(' ')
			b.WriteString(s)
		}
	}
	word(string(e.Kind))
	word(fault.Quote(e.Server))
	if e.Generation > 0 {
		word(fmt.Sprintf("g%d", e.Generation))
	}
	if e.PID > 0 {
		word(fmt.Sprintf("pid %d", e.PID))
	}
	word(fault.Quote(e.Method))
	if e.Tool != "" {
		word(fmt.Sprintf("%q", fault.Quote(e.Tool)))
	}
	if e.From != "" || e.To != "" {
		word(fault.Quote(e.From) + " -> " + fault.Quote(e.To))
	}
	if e.Count > 0 {
		word(fmt.Sprintf("x%d", e.Count))
	}
	word(string(e.Code))
	if d := fault.Quote(e.Detail); d != "" {
		b.WriteString(": ")
		b.WriteString(d)
	}
	if e.Took > 0 {
		fmt.Fprintf(&b, " (%s)", rounded(e.Took))
	}
	return b.String()
}

// rounded keeps three digits: nobody reads nanoseconds in a log.
func rounded(d time.Duration) time.Duration {
	for unit := time.Nanosecond; unit <= time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}
