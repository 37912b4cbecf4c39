// Package gate is the stage that checks the arguments of tool calls before they are sent, repairs them, and
// explains in the response why a server rejected them.
package gate

import (
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const (
	maxAbout      = 600  // bytes that are kept of a tool's description
	maxValueLen   = 2000 // characters of a changed value that are kept
	maxUnverified = 1000 // tools that are remembered because their calls are not checked
)

// ruleToolName is the rule that corrects the name of a tool.
const ruleToolName = "tool name"

// Stage is the gate of one session.
type Stage struct {
	kernel.Bystander
	Kernel *kernel.Session
	Mode   func(tool string) repair.Mode
	Redact func(string) string // masks secrets

	gate      repair.Gate
	decisions sync.Pool

	mu         sync.Mutex
	unverified map[string]string // tools whose calls pass unchecked, and why
}

// New returns the stage. explain words explanations; see repair.Gate. It may be nil.
func New(explain func(repair.Explanation) string) *Stage {
	return &Stage{gate: repair.Gate{Explain: explain}, unverified: map[string]string{}, decisions: sync.Pool{New: func() any { return new(repair.Decision) }}}
}

// Tool is what is known of a tool that the server lists.
type Tool struct {
	Schema *repair.Schema // of its arguments
	About  string         // its description, shortened
	Entry  []byte         // its whole entry in the list; nil: nothing needs it
	Hash   string         // of the definition in it
}

// ReadTool reads what is known of a tool from its entry in the list. Of several with one name, the last one counts.
func ReadTool(item []byte, _ any) any {
	var values [2][]byte
	if wire.Fields(item, values[:], "inputSchema", "description") != nil {
		return nil
	}
	about, _ := wire.Text(values[1])
	return &Tool{Schema: repair.Compile(values[0]), About: strings.Clone(about[:min(len(about), maxAbout)])}
}

// Prepare compiles the schemas of tools before the first call needs them.
func Prepare(tools []any) {
	for _, data := range tools {
		if tool, ok := data.(*Tool); ok {
			tool.Schema.Ready()
		}
	}
}

var decision = kernel.NewSlot[*repair.Decision]()

// unchecked is the decision about a call that the gate has not seen.
var unchecked repair.Decision

// DecisionOf returns what was decided about a call.
func DecisionOf(c *kernel.Call) *repair.Decision {
	if d := decision.Of(c); d != nil {
		return d
	}
	return &unchecked
}

// Arrive passes a tool call through the repair gate.
func (s *Stage) Arrive(c *kernel.Call) kernel.Ruling {
	if !c.IsTool() {
		return kernel.Pass
	}
	arguments := c.Arguments()
	asked := repair.Call{Tool: c.Tool(), Arguments: arguments, IsJSON: true}
	why, fix := illegible(c)
	if why != "" && s.Mode(c.Tool()) != repair.ModeStrict {
		return kernel.Pass // the server decides how to read it
	}
	d := s.decisions.Get().(*repair.Decision)
	if why != "" {
		*d = s.gate.Unchecked(asked, why, fix)
	} else {
		*d = s.admit(asked)
	}
	decision.Keep(c, d)
	switch d.Verdict {
	case repair.Refused:
		return kernel.Refuse(d.Refusal())
	case repair.Unverified:
		s.reportUnverified(d.Tool, d.Reason)
	}
	if !d.Adjusted(arguments) {
		return kernel.Pass
	}
	if changed(&d.Receipt) {
		s.reportRepair(c, d)
	}
	edits := kernel.ArgumentsEdit(c.Params(), arguments, d.Arguments)
	if d.Tool != c.Tool() {
		name, _ := wire.Field(c.Params(), "name")
		quoted, _ := json.Marshal(d.Tool)
		edits = append(edits, wire.Edit{Old: name, New: quoted})
	}
	return kernel.Rewrite(edits...)
}

// illegible returns why a call cannot be checked whatever its tool is, and what to do.
func illegible(c *kernel.Call) (why, fix string) {
	switch {
	case c.Tool() == "":
		return "it names no tool", "Send the name of the tool as a string."
	case !utf8.Valid(c.Params()):
		return "it is not valid UTF-8", "Send text in UTF-8."
	}
	return "", ""
}

// Check is Arrive for a call that waited until its tool was listed.
func (s *Stage) Check(c *kernel.Call) kernel.Ruling { return s.Arrive(c) }

func (s *Stage) admit(c repair.Call) repair.Decision { return s.gate.Admit(c, (*listed)(s)) }

// Readmit decides about other arguments for a call, and returns the decision if they are valid as they are.
func (s *Stage) Readmit(c *kernel.Call, arguments []byte) (*repair.Decision, bool) {
	d := s.admit(repair.Call{Tool: c.Tool(), Arguments: arguments})
	return &d, d.Verdict == repair.Valid && !d.Adjusted(arguments)
}

// Replace replaces the decision about a call that is sent with other arguments.
func Replace(c *kernel.Call, d *repair.Decision) { decision.Keep(c, d) }

// listed is the session's catalog as the repair gate reads it.
type listed Stage

// Tool returns what the catalog and the operator's policy say about a tool.
func (l *listed) Tool(name string) (t repair.Tool, found bool) {
	t.Mode = l.Mode(name)
	data, class, found, stale := l.Kernel.Listed(name)
	if stale {
		return t, true // the server has announced different tools
	}
	if known, ok := data.(*Tool); ok {
		t.Schema, t.About = known.Schema, known.About
	}
	t.Safe = found && class != kernel.Unsafe
	return t, found
}

// Names returns all tools in order, or nil if not all of them are known.
func (l *listed) Names() []string { return l.Kernel.Names() }

// Add adds the receipt of a repaired call, or an explanation after the server's own words.
func (s *Stage) Add(c *kernel.Call, r *kernel.Response, added *kernel.Addition) {
	d := DecisionOf(c)
	if r.Message == nil || !d.Checked() {
		return
	}
	var sent []byte
	if r.Text != "" {
		sent = c.Arguments()
	}
	a := d.Answered(sent, repair.Response{Text: r.Text, Code: r.Code})
	added.Receipt, added.Report, added.Note, added.Explanation = a.Receipt, a.Report, a.Note, a.Explanation
	if a.Explanation != "" {
		s.Kernel.EmitOf(c, event.Event{Kind: event.Explained, Code: a.Code, Told: s.Redact(a.Explanation)})
	}
}

// End records what was changed in a call, and that a repair saved it.
func (s *Stage) End(c *kernel.Call, e *kernel.EndedCall) {
	d := DecisionOf(c)
	if !changed(&d.Receipt) {
		return
	}
	e.Changes = s.Changes(&d.Receipt)
	if e.Outcome == kernel.OutcomeOK && e.Saved == "" && d.Proven() {
		e.Saved = kernel.SavedRepaired
	}
}

// Done gives back what was kept of a call whose answer was passed on.
func (s *Stage) Done(c *kernel.Call) {
	if d := decision.Of(c); d != nil {
		decision.Keep(c, nil)
		s.decisions.Put(d)
	}
}

// changed reports whether a receipt has changes.
func changed(r *repair.Receipt) bool { return r.Called != "" || len(r.Changes) > 0 }

// Changes returns the changes of a receipt, whose values are masked.
func (s *Stage) Changes(r *repair.Receipt) (all []event.Change) {
	if r.Called != "" {
		before, _ := json.Marshal(r.Called)
		after, _ := json.Marshal(r.Tool)
		all = append(all, event.Change{Path: "(tool)", Rule: ruleToolName, Reason: "the server has no tool with this name", Before: string(before), After: string(after)})
	}
	for _, c := range r.Changes {
		reason := c.Reason()
		if c.Rule == repair.RuleModel || c.Rule == repair.RuleOwn {
			reason = s.Redact(r.Reason)
		}
		all = append(all, event.Change{Path: c.Path, Rule: c.Rule, Reason: reason,
			Before: plaintext.Cap(s.Redact(string(c.Before)), maxValueLen), After: plaintext.Cap(s.Redact(string(c.After)), maxValueLen)})
	}
	return all
}

// reportRepair emits an event with the rules that were applied to a call, without its values.
func (s *Stage) reportRepair(c *kernel.Call, d *repair.Decision) {
	receipt := &d.Receipt
	var details []string
	if receipt.Called != "" {
		details = append(details, "tool "+receipt.Called+" resolved to "+receipt.Tool)
	}
	for _, change := range receipt.Changes {
		details = append(details, change.Path+": "+change.Rule)
	}
	s.Kernel.EmitOf(c, event.Event{Kind: event.Repaired, Tool: d.Tool, Changes: s.Changes(receipt), Told: s.Redact(d.Note()),
		Detail: s.Redact(strings.Join(details, "; ")), Count: len(details)})
}

// reportUnverified emits an event once for each tool and reason that its calls are not checked.
func (s *Stage) reportUnverified(tool, reason string) {
	s.mu.Lock()
	known := s.unverified[tool] == reason
	if len(s.unverified) < maxUnverified {
		s.unverified[tool] = reason
	}
	s.mu.Unlock()
	if !known {
		s.Kernel.Emit(event.Event{Kind: event.Unverified, Method: "tools/call", Tool: tool, Detail: reason})
	}
}
