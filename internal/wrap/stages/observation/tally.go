package observation

import (
	"strings"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
)

// What a session counts for those who watch it: tool calls from the client, each once, when it ends.

const (
	maxRecent  = 100 // calls that are kept
	maxTallied = 200 // tools that are counted separately
	otherTools = "other"
	maxToolLen = 200 // characters of a tool's name that are kept
)

// tally counts the tool calls of a session. Guarded by Stage.mu.
type tally struct {
	failed, unknown, cancelled, ended            uint64
	healed, replayed, repaired, corrected, saved uint64
	tools                                        map[string]*toolTally
	faults, rules, verdicts                      map[string]uint64
	recent                                       []kernel.EndedCall // the last ones; the next goes to ended % maxRecent
}

// toolTally counts the calls of one tool.
type toolTally struct {
	calls, failed uint64
	latency       health.Histogram // of answered calls
}

// end counts a tool call that ended. It is on the path of every call: what can be derived is derived in Observe.
func (t *tally) end(e *kernel.EndedCall) {
	name := keptName(e.Tool)
	tool := t.tool(name)
	tool.calls++
	switch e.Outcome {
	case kernel.OutcomeOK:
		if e.Saved != "" {
			t.saved++
		}
		fallthrough
	case kernel.OutcomeError:
		tool.latency.Add(e.Took)
	case kernel.OutcomeCancelled:
		t.cancelled++
	default:
		t.failed++
		tool.failed++
		add(&t.faults, e.Outcome)
		if e.Outcome == string(fault.OutcomeUnknown) {
			t.unknown++
		}
	}
	if len(t.recent) < maxRecent {
		t.recent = append(t.recent, kernel.EndedCall{})
	}
	kept := &t.recent[t.ended%maxRecent]
	*kept = *e
	kept.Tool = name
	t.ended++
}

// latency returns how long answered calls took.
func (t *tally) latency() (all health.Histogram) {
	for _, tool := range t.tools {
		all.Merge(tool.latency)
	}
	return all
}

// keptName returns the name of a tool, which a model may have invented, with a limited length.
func keptName(name string) string {
	if len(name) <= maxToolLen {
		return name
	}
	return strings.Clone(plaintext.Cap(name, maxToolLen))
}

// tool returns the counts of a tool. Models can invent tools, so their number is limited.
func (t *tally) tool(name string) *toolTally {
	known := t.tools[name]
	if known == nil && len(t.tools) >= maxTallied {
		name = otherTools
		known = t.tools[name]
	}
	if known == nil {
		if t.tools == nil {
			t.tools = map[string]*toolTally{}
		}
		known = &toolTally{}
		t.tools[name] = known
	}
	return known
}

// repair counts a call that was changed by rules.
func (t *tally) repair(changes []event.Change) {
	t.repaired++
	for _, c := range changes {
		add(&t.rules, c.Rule)
	}
}

// add counts one of a small set of words.
func add(counts *map[string]uint64, word string) { addN(counts, word, 1) }

func addN(counts *map[string]uint64, word string, n uint64) {
	if *counts == nil {
		*counts = map[string]uint64{}
	}
	(*counts)[word] += n
}

// told remembers what was added to the response to a call that has ended.
func (t *tally) told(id event.CallID, text string) {
	for i := range t.recent { // the newest are found last; there are few
		if t.recent[i].ID == id {
			t.recent[i].Told = text
		}
	}
}
