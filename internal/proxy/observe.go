package proxy

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// What a session counts for those who watch it: tool calls from the client, each once, when it ends.

const (
	maxRecent        = 100 // calls that are kept
	maxTallied       = 200 // tools that are counted separately
	otherTools       = "other"
	maxClientLen     = 80   // characters
	maxToolLen       = 200  // characters of a tool's name that are kept
	maxValueLen      = 2000 // characters of a changed value that are kept
	outcomeOK        = "ok"
	outcomeError     = "error" // the tool's own
	outcomeCancelled = "cancelled"
)

// How gauze saved a call.
const (
	savedReplayed  = "replayed"
	savedWaited    = "waited"
	savedRepaired  = "repaired"
	savedCorrected = "corrected"
)

// ruleToolName is the rule that corrects the name of a tool.
const ruleToolName = "tool name"

// tally counts the tool calls of a session. Guarded by Session.mu.
type tally struct {
	calls, failed, unknown, cancelled, ended     uint64
	healed, replayed, repaired, corrected, saved uint64
	latency                                      health.Histogram // of answered calls
	tools                                        map[string]*toolTally
	faults, rules, verdicts                      map[string]uint64
	recent                                       []EndedCall // the last ones; the next goes to ended % maxRecent
}

// toolTally counts the calls of one tool.
type toolTally struct {
	calls, failed uint64
	latency       health.Histogram
}

// EndedCall is one tool call. It has no results, and arguments only as far as gauze changed them.
type EndedCall struct {
	ID      event.CallID
	Time    time.Time // Time is when it arrived.
	Client  string
	Tool    string
	Outcome string // Outcome is ok, error (the tool's own), cancelled, or the code of a fault.
	Took    time.Duration
	Without time.Duration // Without is after what time it would have failed without gauze; 0: it would not have, or that is not known.
	Saved   string        // Saved is replayed, waited, repaired or corrected; empty: it would not have failed.
	Changes []event.Change
	Told    string // Told is what gauze added to its response.
}

// noteBegin counts a call from the client.
func (s *Session) noteBegin(c *call) {
	if c.msg.Method != "tools/call" {
		return
	}
	s.tally.calls++
}

// outcomeOf returns how a call ended that the server answered.
func outcomeOf(said response, valid bool) string {
	switch {
	case !valid:
		return string(fault.ResponseInvalid)
	case said.failed:
		return outcomeError
	}
	return outcomeOK
}

// noteEnd counts a call that ended. It is called once for each. The caller holds the lock.
func (s *Session) noteEnd(c *call, outcome string, now time.Time) {
	if c.msg.Method != "tools/call" {
		return
	}
	t := &s.tally
	t.ended++
	c.ended = t.ended
	e := EndedCall{ID: c.number, Time: c.since(), Client: c.client, Tool: keptName(c.tool), Outcome: outcome, Took: max(0, now.Sub(c.since()))}
	if changed(&c.fitting.Receipt) {
		e.Changes = s.changesOf(&c.fitting.Receipt)
	}
	tool := t.tool(e.Tool)
	tool.calls++
	switch outcome {
	case outcomeOK:
		if e.Saved, e.Without = c.saved(); e.Saved != "" {
			t.saved++
			s.reportSaved(c, e)
		}
		fallthrough
	case outcomeError:
		t.latency.Add(e.Took)
		tool.latency.Add(e.Took)
	case outcomeCancelled:
		t.cancelled++
	default:
		t.failed++
		tool.failed++
		add(&t.faults, outcome)
		if outcome == string(fault.OutcomeUnknown) {
			t.unknown++
		}
	}
	if c.trace != nil {
		c.trace.End(e)
	}
	if len(t.recent) < maxRecent {
		t.recent = append(t.recent, e)
	} else {
		t.recent[(t.ended-1)%maxRecent] = e
	}
}

// NoteVerdict counts what a task decided about the server while it failed, one of a small set of words.
func (s *Session) NoteVerdict(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.tally.verdicts, action)
}

// keptName returns the name of a tool, which a model may have invented, with a limited length.
func keptName(name string) string {
	if len(name) <= maxToolLen {
		return name
	}
	return strings.Clone(plaintext.Cap(name, maxToolLen))
}

// saved returns what gauze did for a call that succeeded and would have failed without it, and after
// what time it would have failed.
func (c *call) saved() (how string, without time.Duration) {
	if !c.failed.IsZero() {
		without = max(time.Millisecond, c.failed.Sub(c.since())) // 0 means that it is not known
	}
	k := c.correction
	switch {
	case k != nil && k.sent && k.held.ID != nil: // rejected by the server, not by strict mode
		return savedCorrected, without
	case c.loss != nil && c.repeated(), c.repetition != nil:
		return savedReplayed, without
	case c.loss != nil || c.waited:
		return savedWaited, max(time.Millisecond, without)
	case changed(&c.fitting.Receipt) && c.fitting.Proven():
		return savedRepaired, 0
	}
	return "", 0
}

// reportSaved emits the event of a call that gauze saved, after those about its answer.
func (s *Session) reportSaved(c *call, e EndedCall) {
	s.later(func() {
		s.emit(c, event.Event{Kind: event.Saved, Detail: e.Saved, Took: e.Took, Without: e.Without, Changes: e.Changes})
	})
}

// noteTold remembers what was added to the response to a call. The caller does not hold the lock.
func (s *Session) noteTold(c *call, added repair.Addition) {
	told := strings.TrimSpace(added.Note + "\n\n" + added.Explanation)
	if c.ended == 0 || told == "" {
		return
	}
	told = s.secrets.Load().Redact(told)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := &s.tally.recent[(c.ended-1)%maxRecent]; e.ID == c.number {
		e.Told = told
	}
}

// since returns when a call arrived: its correction waits like a new call.
func (c *call) since() time.Time {
	if c.correction != nil {
		return c.correction.since
	}
	return c.arrived
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

// changed reports whether a receipt has changes.
func changed(r *repair.Receipt) bool { return r.Called != "" || len(r.Changes) > 0 }

// changesOf returns the changes of a receipt, whose values are masked.
func (s *Session) changesOf(r *repair.Receipt) (all []event.Change) {
	secrets := s.secrets.Load()
	if r.Called != "" {
		before, _ := json.Marshal(r.Called)
		after, _ := json.Marshal(r.Tool)
		all = append(all, event.Change{Path: "(tool)", Rule: ruleToolName, Reason: "the server has no tool of this name", Before: string(before), After: string(after)})
	}
	for _, c := range r.Changes {
		reason := c.Reason()
		if c.Rule == repair.RuleModel || c.Rule == repair.RuleOwn {
			reason = secrets.Redact(r.Reason)
		}
		all = append(all, event.Change{Path: c.Path, Rule: c.Rule, Reason: reason,
			Before: plaintext.Cap(secrets.Redact(string(c.Before)), maxValueLen), After: plaintext.Cap(secrets.Redact(string(c.After)), maxValueLen)})
	}
	return all
}

// emit emits an event. c is the call that it is about, nil if there is none.
func (s *Session) emit(c *call, e event.Event) {
	e.Server = s.Name
	if c != nil {
		e.Method, e.Call, e.Client = c.msg.Method, c.number, c.client
		if e.Tool == "" {
			e.Tool = c.tool
		}
		if c.trace != nil {
			c.trace.Event(e)
		}
	}
	if e.Client == "" {
		e.Client = s.clientName()
	}
	s.Events.Emit(e)
}

// clientInfo is how a client introduced itself.
type clientInfo struct {
	raw  string
	name string
}

// introduced returns the name in a clientInfo, or that of the session's client if it has none. A
// modern client introduces itself with every request, so the last name is kept.
func (s *Session) introduced(raw []byte) string {
	last := s.client.Load()
	if raw == nil {
		if last == nil {
			return ""
		}
		return last.name
	}
	if last != nil && last.raw == string(raw) {
		return last.name
	}
	value, _ := wire.Field(raw, "name")
	name, _ := wire.Text(value)
	info := &clientInfo{name: plaintext.Cap(redact.Quote(name), maxClientLen)}
	if len(raw) <= 4<<10 { // a larger one is read again each time
		info.raw = string(raw)
	}
	s.client.Store(info)
	return info.name
}

// clientName returns the name of the client, empty before it has introduced itself.
func (s *Session) clientName() string { return s.introduced(nil) }
