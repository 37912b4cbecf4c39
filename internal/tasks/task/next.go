package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// What a task does next.
const (
	DoCall   = "call"   // send a call
	DoAsk    = "ask"    // ask the model what to do next
	DoFinish = "finish" // the task is complete
	DoStop   = "stop"   // stop, and wait to be resumed
	DoRest   = "rest"   // the task is stopped or complete
)

// Decision is what a task does next. It follows from the State alone.
type Decision struct {
	Do      string   `json:"do"`
	Intent  *Intent  `json:"intent,omitempty"` // of a call, without class and shape
	Stop    *Stopped `json:"stop,omitempty"`
	Summary string   `json:"summary,omitempty"`

	// Repeats is the call that is sent again although it may have had its effect: its tool must
	// still be the same. 0 if there is none.
	Repeats int `json:"repeats,omitempty"`
	// Waits counts the attempts before this one that failed or were lost in this run.
	Waits int `json:"waits,omitempty"`
}

// maxLosses is how often a call is sent that is lost each time without an effect.
const maxLosses = 5

// stuckAfter equal calls with equal outcomes, a task makes no progress.
const stuckAfter = 3

// Next returns what the task does next. It assumes that no call is in progress.
func (s *State) Next() Decision {
	if s.Done != nil || s.Stopped != nil {
		return Decision{Do: DoRest}
	}
	var d Decision
	if s.Plan.ByModel() {
		d = s.nextChosen()
	} else {
		d = s.nextStep()
	}
	if d.Do != DoCall && d.Do != DoAsk {
		return d
	}
	if stop := s.stuck(); stop != nil {
		return Decision{Do: DoStop, Stop: stop}
	}
	if stop := s.overBudget(); stop != nil {
		return Decision{Do: DoStop, Stop: stop}
	}
	return d
}

// nextStep walks through the plan from the last call on. Everything before it is settled.
func (s *State) nextStep() Decision {
	index, item := s.position()
	for ; index < len(s.Plan.Steps); index, item = index+1, 0 {
		walk := s.walkOf(index)
		if walk.err != nil {
			if d := walk.fail(item, walk.err); d != nil {
				return *d
			}
			continue
		}
		for ; item < len(walk.items); item++ {
			if d := walk.at(item); d != nil {
				return *d
			}
		}
	}
	return Decision{Do: DoFinish}
}

func (s *State) indexOf(step string) int {
	for i := range s.Plan.Steps {
		if s.Plan.Steps[i].ID == step {
			return i
		}
	}
	return len(s.Plan.Steps)
}

// walk is one step with what its references refer to.
type walk struct {
	s     *State
	step  *Step
	in    scope
	vals  values
	items []any // one nil item without a loop
	err   error // the loop has no list
}

// walkOf returns the step at an index. The last one is kept: all steps before it are settled, so its
// list does not change while the task is at it.
func (s *State) walkOf(index int) *walk {
	if w := s.walked; w != nil && w.step == &s.Plan.Steps[index] {
		return w
	}
	w := &walk{s: s, step: &s.Plan.Steps[index], items: []any{nil}, vals: values{results: s.results}}
	for i := len(s.ids); i < len(s.Plan.Steps); i++ {
		s.ids = append(s.ids, s.Plan.Steps[i].ID)
	}
	w.in = scope{steps: s.ids[:index], later: s.ids[index:]}
	s.walked = w
	if w.step.For != "" {
		var l *loop
		if l, w.err = parseLoop(w.step.For, w.in); w.err == nil {
			w.in.item = l.name
			w.items, w.err = l.items(w.vals)
		}
	}
	return w
}

// at returns what to do about one item, or nil if it is settled.
func (w *walk) at(item int) *Decision {
	if last := w.s.latest[place{step: w.step.ID, item: item}]; last != nil {
		return w.s.after(last, w.step.OnError)
	}
	w.vals.current = w.items[item]
	for _, text := range w.step.When {
		c, err := parseCondition(text, w.in)
		if err != nil {
			return w.fail(item, err)
		}
		ok, err := c.holds(w.vals)
		if err != nil {
			return w.fail(item, err)
		}
		if !ok {
			return nil
		}
	}
	arguments, err := w.arguments()
	if err != nil {
		return w.fail(item, err)
	}
	return &Decision{Do: DoCall, Intent: &Intent{
		Call: len(w.s.Calls) + 1, Step: w.step.ID, Item: item, Attempt: 1,
		Server: w.step.Server, Tool: w.step.Tool, Arguments: arguments,
	}}
}

// arguments returns the arguments with their references replaced.
func (w *walk) arguments() (json.RawMessage, error) {
	if len(w.step.Arguments) == 0 {
		return json.RawMessage(`{}`), nil
	}
	value, err := decode(w.step.Arguments)
	if err != nil {
		return nil, err
	}
	if value, err = w.vals.fillAll(value, w.in); err != nil {
		return nil, err
	}
	return plaintext.EncodeJSON(value, "")
}

// fail returns what to do about a step that cannot be sent, or nil if the task goes on without it.
func (w *walk) fail(item int, err error) *Decision {
	if w.step.OnError.Continue {
		return nil
	}
	reason := err.Error()
	if !strings.HasSuffix(reason, "?") {
		reason += "."
	}
	return &Decision{Do: DoStop, Stop: &Stopped{Why: StepFailed, Step: w.step.ID, Item: item, Server: w.step.Server,
		Message: fmt.Sprintf("Step %q was not sent: %s", w.step.ID, reason)}}
}

// after returns what to do after a call: send it again, stop, or nil if its place is settled.
func (s *State) after(c *Call, e OnError) *Decision {
	o := c.Outcome
	switch {
	case o != nil && o.Status == OK:
		return nil
	case o != nil && o.Status == Failed:
		return s.afterFailure(c, e)
	case c.Decision == "done" || c.Decision == "skip":
		return nil
	case c.Decision == "repeat":
		return s.again(c, false)
	case o != nil && o.Need != "" && o.Delivery != Unknown:
		if c.granted {
			return s.again(c, false)
		}
		return stop(c, NeedsPerson, personMessage(c.Server, o.Need))
	case !s.mayRepeat(c):
		return stop(c, NeedsDecision, c.doubt())
	case o != nil && o.answered():
		return s.afterFailure(c, e)
	case c.losses >= maxLosses && c.run == s.resumes:
		return stop(c, ServerDead, fmt.Sprintf("The server %q did not answer the call to %s in %d attempts.", c.Server, c.Tool, c.losses))
	}
	return s.again(c, o == nil || o.Delivery != Unsent)
}

// continues reports whether the task goes on if a step fails.
func (s *State) continues(step string) bool {
	i := s.indexOf(step)
	return i < len(s.Plan.Steps) && s.Plan.Steps[i].OnError.Continue
}

// doubt says why a person must decide about a call.
func (c *Call) doubt() string {
	o := c.Outcome
	switch {
	case o != nil && cmp.Or(o.Person, o.Need) != "":
		return fmt.Sprintf("%s It is unknown whether the call to %s took effect, and repeating it may not be safe.", personMessage(c.Server, cmp.Or(o.Person, o.Need)), c.Tool)
	case o != nil && o.Delivery == Answered:
		return fmt.Sprintf("The server %q answered the call to %s, but the answer cannot be used. The call has most likely taken effect, and repeating it may not be safe.", c.Server, c.Tool)
	}
	return fmt.Sprintf("It is unknown whether the call to %s on the server %q took effect, and repeating it may not be safe.", c.Tool, c.Server)
}

// doubtful returns the last call at a place if it may have had its effect and must not be sent again,
// or nil. Next stops because of such a call, except where an earlier version took a login as the
// licence to repeat it: its logs must replay, so the call is stopped where it would be sent.
func (s *State) doubtful(at place) *Call {
	for _, c := range slices.Backward(s.Calls) {
		if c.place() == at {
			unknown := c.Outcome == nil || c.Outcome.Status == Lost
			if unknown && c.Decision != "repeat" && !s.mayRepeat(c) {
				return c
			}
			return nil
		}
	}
	return nil
}

// afterFailure is after for a call that the server answered with an error, or with nothing usable
// if the call may be repeated.
func (s *State) afterFailure(c *Call, e OnError) *Decision {
	mayHelp := c.Outcome.Need == "" && !c.Outcome.givenUp() && !s.hopeless(c)
	switch repeats := c.Outcome.Status == Lost; {
	case c.granted, mayHelp && c.failures < max(1, e.Attempts):
		return s.again(c, repeats)
	case e.Continue:
		return nil
	case c.Outcome.Need != "":
		return stop(c, NeedsPerson, personMessage(c.Server, c.Outcome.Need))
	}
	return stop(c, StepFailed, fmt.Sprintf("The call to %s on the server %q failed.", c.Tool, c.Server))
}

// hopeless reports whether the same call would fail in the same way: the server does not have its
// tool, or gauze knows that a different call is needed.
func (s *State) hopeless(c *Call) bool {
	if c.Outcome == nil || !c.Outcome.answered() {
		return false
	}
	if tools := s.Tools[c.Server]; len(tools) > 0 && tools[c.Tool] == "" {
		return true
	}
	entry, ok := fault.Lookup(c.Outcome.Fault)
	return ok && entry.Retry == fault.ChangeCall
}

// again returns the decision to send a call once more. repeats means that it may have had its
// effect.
func (s *State) again(c *Call, repeats bool) *Decision {
	i := c.Intent
	i.Call, i.Attempt = len(s.Calls)+1, c.Attempt+1
	i.Class, i.Shape = "", ""
	d := &Decision{Do: DoCall, Intent: &i}
	if repeats {
		d.Repeats = c.Call
	}
	if c.run == s.resumes {
		d.Waits = max(c.losses, c.failures)
	}
	return d
}

// mayRepeat is the licence to send a call again whose outcome is not known.
func (s *State) mayRepeat(c *Call) bool {
	switch {
	case c.Outcome != nil && c.Outcome.Delivery == Unsent, c.Class == ReadOnly:
		return true
	case c.Class != Idempotent:
		return false
	}
	for _, later := range s.Calls[c.Call:] {
		if later.Class != ReadOnly && (later.Outcome == nil || later.Outcome.Delivery != Unsent) {
			return false
		}
	}
	return true
}

// stop returns the decision to stop because of a call.
func stop(c *Call, why Why, message string) *Decision {
	return &Decision{Do: DoStop, Stop: &Stopped{Why: why, Step: c.Step, Item: c.Item, Call: c.Call, Server: c.Server, Message: message}}
}

// nextChosen is nextStep for a plan whose calls a model chooses.
func (s *State) nextChosen() Decision {
	if len(s.Choices) == 0 {
		return Decision{Do: DoAsk}
	}
	choice := s.Choices[len(s.Choices)-1]
	switch choice.Action {
	case "done":
		return Decision{Do: DoFinish, Summary: choice.Reason}
	case "give_up":
		if choice.Choice <= s.regret {
			return Decision{Do: DoAsk}
		}
		return Decision{Do: DoStop, Stop: &Stopped{Why: StepFailed, Message: "The model gave up: " + choice.Reason}}
	}
	last := s.latest[place{choice: choice.Choice}]
	if last == nil && choice.Choice <= s.regret {
		return Decision{Do: DoAsk} // it could not be sent, and was not
	}
	if last == nil {
		return Decision{Do: DoCall, Intent: &Intent{Call: len(s.Calls) + 1, Choice: choice.Choice, Attempt: 1,
			Server: choice.Server, Tool: choice.Tool, Arguments: choice.Arguments}}
	}
	failed := last.Outcome != nil && last.Outcome.Status == Failed
	if failed && last.Outcome.Need != "" && !last.granted && s.agentIsBlocked(last) {
		return *stop(last, NeedsPerson, personMessage(last.Server, last.Outcome.Need))
	}
	if failed {
		return Decision{Do: DoAsk} // the model reads the error and chooses again
	}
	if d := s.after(last, OnError{Continue: true}); d != nil {
		return *d
	}
	return Decision{Do: DoAsk}
}

// agentIsBlocked reports whether a failed call proves that a person is needed: by a code, or because
// it is the second such failure in a row of the same server. A model may find a different way first.
func (s *State) agentIsBlocked(c *Call) bool {
	if c.Outcome.Fault != "" || c.Outcome.Cause != "" || c.Outcome.Need == needInput {
		return true
	}
	for i := c.Call - 2; i >= 0; i-- {
		if before := s.Calls[i]; before.Server == c.Server {
			return before.Outcome != nil && before.Outcome.Status == Failed && before.Outcome.Need != ""
		}
	}
	return false
}

// stuck returns why the task makes no progress, or nil.
func (s *State) stuck() *Stopped {
	same, c := s.repeated()
	if same < stuckAfter {
		return nil
	}
	return &Stopped{Why: Stuck, Step: c.Step, Call: len(s.Calls), Server: c.Server,
		Message: fmt.Sprintf("The same call to %s on the server %q had the same outcome %d times in a row.", c.Tool, c.Server, stuckAfter)}
}

// repeated returns how often in a row the last call had its outcome in this run, at most stuckAfter,
// and the first of these calls. The same call is one with the same arguments. Steps that a person wrote may succeed as often as
// the plan says, and the attempts of one step count once.
func (s *State) repeated() (same int, first *Call) {
	for i := len(s.Calls) - 1; i >= 0 && same < stuckAfter; i-- {
		c := s.Calls[i]
		answered := c.Outcome != nil && c.Outcome.Status != Lost && !c.Outcome.givenUp()
		if c.run != s.resumes || !answered || c.Outcome.Status == OK && !s.Plan.ByModel() {
			break
		}
		if first != nil && c.place() == first.place() {
			continue
		}
		if first != nil && !c.same(first) {
			break
		}
		first = c
		same++
	}
	return same, first
}

// same reports whether two calls are equal and ended in the same way.
func (c *Call) same(d *Call) bool {
	return c.Server == d.Server && c.Tool == d.Tool && string(c.Arguments) == string(d.Arguments) && c.Outcome.same(d.Outcome)
}

func (o *Outcome) same(p *Outcome) bool {
	return o.Status == p.Status && o.Text == p.Text && string(o.JSON) == string(p.JSON) && o.Fault == p.Fault && o.TooLarge == p.TooLarge
}

// overBudget returns which budget is spent, or nil. Time is checked by the loop, which has a clock.
func (s *State) overBudget() *Stopped {
	b, spent := s.Plan.Budget, s.Spent
	text, more := "", ""
	switch most := s.Plan.maxSteps(); {
	case spent.Steps >= most:
		text = plaintext.Count(most, "call")
		if b.Steps == 0 {
			more = " This is the default; to change it, set budget.steps in the file."
		}
	case b.Tokens > 0 && spent.Tokens >= b.Tokens:
		text = plaintext.Count(b.Tokens, "token")
	case b.Cost > 0 && spent.Cost >= b.Cost:
		text = fmt.Sprintf("$%.2f", b.Cost)
	case b.Time > 0 && spent.Time >= b.Time:
		text = b.Time.String()
	default:
		return nil
	}
	return budgetStop(text, more)
}

func budgetStop(text, more string) *Stopped {
	return &Stopped{Why: BudgetSpent, Message: "The budget of " + text + " is used up." + more + " If you resume the task, it gets the same budget again."}
}
