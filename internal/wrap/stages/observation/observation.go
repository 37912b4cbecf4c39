package observation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Observation is what a session, or several, can say about a server and its calls. Texts are cleaned,
// and secrets are masked.
type Observation struct {
	Client    string
	State     string    // State is a health state, StateStarting or StateAsleep.
	Up        time.Time // Up is since when the server is connected; zero: it is not.
	PID       int       // PID is the server's process; 0: none.
	ToolCount int

	Calls, Failed, Unknown, Cancelled            uint64 // tool calls; Unknown are a part of Failed
	Open                                         int    // tool calls without an answer
	Healed, Replayed, Repaired, Corrected, Saved uint64
	Latency                                      health.Histogram // Latency is of answered tool calls.
	Faults, Rules, Verdicts                      map[string]uint64

	Restarts   uint64
	Closures   map[string]uint64 // Closures counts ended connections by reason.
	Recovery   health.Histogram
	LastReason string // LastReason is why the last connection ended, other than because the client left or nothing used it.
	LastDeath  time.Time
	Health     health.Snapshot // Health is what led to State.

	// The rest is set if details were asked for.
	Tools  []ObservedTool     // Tools are ordered by name.
	Recent []kernel.EndedCall // Recent are the last calls, newest last.
	Log    []string           // Log is the end of the server's stderr.
}

// ObservedTool is one tool of a server.
type ObservedTool struct {
	Name          string
	Class         kernel.Class
	Policy        string // Policy is what the user configured for it.
	Calls, Failed uint64
	Latency       health.Histogram
}

// Observe returns what can be seen from outside. detail includes the tools, the last calls and the
// log.
func (s *Stage) Observe(detail bool) Observation {
	now := s.Kernel.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t, past, snapshot := &s.tally, now.Past, now.Health
	calls := max(s.calls.Load(), t.ended)
	o := Observation{
		Client: now.Client, State: snapshot.State.String(), Up: now.Up, PID: now.PID, ToolCount: len(now.Tools),
		Calls: calls, Failed: t.failed, Unknown: t.unknown, Cancelled: t.cancelled, Open: int(calls - t.ended),
		Healed: t.healed, Replayed: t.replayed, Repaired: t.repaired, Corrected: t.corrected, Saved: t.saved,
		Latency: t.latency(), Faults: maps.Clone(t.faults), Rules: maps.Clone(t.rules), Verdicts: maps.Clone(t.verdicts),
		Restarts: snapshot.Restarts, Closures: past.Closures, Recovery: past.Recovery, LastReason: past.LastReason, LastDeath: past.LastDeath, Health: snapshot,
	}
	o.Health.LastCause = redact.Quote(o.Health.LastCause)
	switch {
	case now.Asleep:
		o.State = kernel.StateAsleep
	case now.Starting:
		o.State = kernel.StateStarting
	}
	if at, needed := s.NeedsLogin(); needed {
		o.State, o.LastReason, o.LastDeath = health.Degraded.String(), upstream.ReasonLogin, at
	}
	if detail {
		o.Tools, o.Recent, o.Log = s.observedTools(now.Tools), t.last(), s.log(now.Stderr)
	}
	return o
}

// last returns the calls that are kept, newest last.
func (t *tally) last() []kernel.EndedCall {
	next := int(t.ended % maxRecent)
	if len(t.recent) < maxRecent {
		next = 0
	}
	all := slices.Concat(t.recent[next:], t.recent[:next])
	for i := range all {
		e := &all[i]
		e.Tool, e.Told = redact.Quote(e.Tool), redact.Passage(e.Told)
	}
	return all
}

// observedTools returns the tools that the server lists or that were called, by name.
func (s *Stage) observedTools(listed map[string]kernel.Class) (all []ObservedTool) {
	names := map[string]bool{}
	for name := range listed {
		names[name] = true
	}
	for name := range s.tally.tools {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		class, found := listed[name]
		if !found {
			class = kernel.Unsafe
		}
		o := ObservedTool{Name: redact.Quote(name)}
		o.Class, o.Policy = s.Policy(name, class)
		if t := s.tally.tools[name]; t != nil {
			o.Calls, o.Failed, o.Latency = t.calls, t.failed, t.latency
		}
		all = append(all, o)
	}
	return all
}

// log returns the last lines that the server wrote to stderr, without secrets.
func (s *Stage) log(lines []string) []string {
	for i, line := range lines {
		lines[i] = redact.Quote(s.Redact(line))
	}
	return lines
}

// Printed returns the last lines that the server printed, oldest first, without secrets.
func (s *Stage) Printed() []upstream.Line {
	return s.masked(s.Kernel.Printed())
}

// masked returns lines without secrets.
func (s *Stage) masked(lines []upstream.Line) []upstream.Line {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	shown, hidden := redact.KeyLines(texts)
	kept := lines[:0]
	for i, line := range lines {
		mask := s.Redact
		if line.Open || line.Cut {
			mask = s.RedactPart
		}
		if line.Text = redact.Quote(mask(shown[i])); !hidden[i] {
			kept = append(kept, line)
		}
	}
	return kept
}

// Add adds what a different session of the same server counted. Client, State, Up, PID, Health and Log stay.
func (o *Observation) Add(other Observation) {
	for _, n := range []struct{ to, from *uint64 }{
		{&o.Calls, &other.Calls}, {&o.Failed, &other.Failed}, {&o.Unknown, &other.Unknown}, {&o.Cancelled, &other.Cancelled},
		{&o.Healed, &other.Healed}, {&o.Replayed, &other.Replayed}, {&o.Repaired, &other.Repaired}, {&o.Corrected, &other.Corrected},
		{&o.Saved, &other.Saved}, {&o.Restarts, &other.Restarts},
	} {
		*n.to += *n.from
	}
	o.Open += other.Open
	o.ToolCount = max(o.ToolCount, other.ToolCount)
	o.Latency.Merge(other.Latency)
	o.Recovery.Merge(other.Recovery)
	for _, n := range []struct{ to, from *map[string]uint64 }{{&o.Faults, &other.Faults}, {&o.Rules, &other.Rules}, {&o.Verdicts, &other.Verdicts}, {&o.Closures, &other.Closures}} {
		for word, count := range *n.from {
			addN(n.to, word, count)
		}
	}
	if other.LastDeath.After(o.LastDeath) {
		o.LastReason, o.LastDeath = other.LastReason, other.LastDeath
	}
	o.addTools(other.Tools)
	o.Recent = append(o.Recent, other.Recent...)
	sorting.Stable(o.Recent, func(a, b kernel.EndedCall) int { return a.Time.Compare(b.Time) })
	o.Recent = o.Recent[max(0, len(o.Recent)-maxRecent):]
}

// addTools adds the counts of tools, by name.
func (o *Observation) addTools(tools []ObservedTool) {
	for _, t := range tools {
		at, found := slices.BinarySearchFunc(o.Tools, t.Name, func(a ObservedTool, name string) int { return strings.Compare(a.Name, name) })
		if !found {
			o.Tools = slices.Insert(o.Tools, at, t)
			continue
		}
		known := &o.Tools[at]
		known.Calls += t.Calls
		known.Failed += t.Failed
		known.Latency.Merge(t.Latency)
	}
}
