// Package logs puts together what servers printed and what gauze did about them, in the order of
// time. It is pure. gauze logs and the dashboard show its lines.
//
// What a server printed is in the memory of its wrap while that runs. Of a wrap that has ended, the
// journal has what gauze did and, if the user asked for values, the last lines before each failure.
package logs

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// Gauze is where a line comes from that says what gauze did or saw.
const Gauze = "gauze"

// Line is one line of a log. It is safe on a terminal; HTML must escape it.
type Line struct {
	Time   time.Time `json:"time"`
	Server string    `json:"server"` // the name with which its events are recorded
	Client string    `json:"client,omitempty"`
	PID    int       `json:"gauze"` // gauze's process
	From   string    `json:"from"`  // live.Stderr, live.Stdout or Gauze
	Text   string    `json:"text"`
	Open   bool      `json:"open,omitempty"` // the server has not ended the line
}

// Wrap is a wrap that is running, and what its server printed.
type Wrap struct {
	Server live.Server
	Lines  []live.Line
}

// has reports whether the wrap still has what its server printed when r was recorded.
func (w Wrap) has(r journal.Record) bool {
	return w.Server.PID == r.Gauze && len(w.Lines) > 0 && !r.Time.Before(w.Lines[0].Time)
}

// Merge returns what wraps printed and what is recorded, oldest first. records are in the order of the
// journal.
func Merge(wraps []Wrap, records []journal.Record) (lines []Line) {
	for _, w := range wraps {
		for _, l := range w.Lines {
			lines = append(lines, Line{l.Time, w.Server.Name, w.Server.Client, w.Server.PID, l.From, l.Text, l.Open})
		}
	}
	for _, r := range records {
		kept := slices.ContainsFunc(wraps, func(w Wrap) bool { return w.has(r) })
		lines = append(lines, recorded(r, kept)...)
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return a.Time.Compare(b.Time) })
	return lines
}

// recorded returns the lines of a record. kept: what the server printed is known from its wrap.
func recorded(r journal.Record, kept bool) (lines []Line) {
	add := func(from, text string) {
		lines = append(lines, Line{Time: r.Time, Server: r.Server, Client: r.Client, PID: r.Gauze, From: from, Text: plaintext.Clean(text)})
	}
	if !kept {
		for _, text := range r.Output {
			add(live.Stderr, text)
		}
	}
	switch r.Kind {
	case event.HealthChanged, event.Saved, event.Stopping, event.Stopped: // another line says it
	case event.Stray:
		if !kept && r.Detail != "" {
			add(live.Stdout, r.Detail)
		}
	case event.Ready:
		if r.PID == 0 { // a process that is ready may still not work
			add(Gauze, timeline.Sentence(r.Event()))
		}
	default:
		add(Gauze, timeline.Sentence(r.Event()))
	}
	return lines
}
