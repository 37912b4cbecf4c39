package task

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// State is everything that is known about a task. It is a fold over the entries of its log, and
// nothing else.
type State struct {
	Seq     int // of the last entry
	Plan    Plan
	Begun   time.Time
	Changed time.Time // time of the last entry
	PID     int       // of the process that ran it last
	Calls   []*Call   // in order
	Stopped *Stopped  // nil while the task runs
	Done    *Done     // nil until the task is complete
	Choices []Chosen
	Judged  []Judged
	Spent   Spent
	Tools   map[string]map[string]string // shapes by server and tool, as last seen

	latest  map[place]*Call // by the place in the plan
	results map[string]*Result
	ids     []string // of the plan's steps, in order; filled by walkOf
	walked  *walk    // the step that was walked last
	resumes int
	secrets redact.Secrets // of the plan
	pending bool           // the last entry is a decision, which no run has acted on

	// A corrected plan continues at the step from, with the item fromItem, until a call is made.
	from, fromItem int
	replannedAt    int  // how many calls there were
	corrected      bool // it was not resumed since

	regret int // choices up to this one neither end the task nor are sent: it was resumed after them
}

// Call is one call of a task.
type Call struct {
	Intent
	Sent     time.Time
	Outcome  *Outcome // nil: not known
	Decision string   // what a person decided

	failures int  // consecutive failures at this place
	losses   int  // consecutive losses at this place in this run
	granted  bool // a resume asks for another attempt
	run      int  // which run sent it
}

// place is where in the plan a call belongs.
type place struct {
	step         string
	item, choice int
}

func (i *Intent) place() place { return place{i.Step, i.Item, i.Choice} }

// Spent is what a task used of its budget.
type Spent struct {
	Steps  int
	Tokens int
	Cost   float64
	Time   time.Duration // until the last entry
}

// Result is the result of a step: one outcome, or those of a loop that succeeded.
type Result struct {
	loop bool
	list []*Outcome
}

// errNewer means that a log was written by a later version.
var errNewer = errors.New("the task was written by a newer version of gauze: update gauze to continue it")

// Fold returns the state after entries.
func Fold(entries []Entry) (*State, error) {
	s := &State{latest: map[place]*Call{}, results: map[string]*Result{}, Tools: map[string]map[string]string{}}
	for _, e := range entries {
		if err := s.Apply(e); err != nil {
			return nil, err
		}
	}
	if s.Seq == 0 {
		return nil, errors.New("the task's log is empty: the task was never started")
	}
	return s, nil
}

// Apply adds one entry.
func (s *State) Apply(e Entry) error {
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("entry %d of the task's log follows entry %d: entries are missing", e.Seq, s.Seq)
	}
	if (e.Seq == 1) != (e.Kind == KindStarted) {
		return fmt.Errorf("entry %d of the task's log is %q: the first entry, and no other, must be %q", e.Seq, e.Kind, KindStarted)
	}
	whileStopped := slices.Contains([]string{KindResumed, KindDecided, KindReplanned}, e.Kind) // no task runs before these
	if e.Seq > 1 && s.Stopped == nil && !whileStopped {
		s.Spent.Time += max(0, e.Time.Sub(s.Changed))
	}
	if err := s.apply(e); err != nil {
		return err
	}
	s.Seq, s.Changed, s.pending = e.Seq, e.Time, e.Kind == KindDecided || e.Kind == KindReplanned && s.pending
	return nil
}

func (s *State) apply(e Entry) error {
	switch e.Kind {
	case KindStarted:
		data, err := read[Started](e)
		if err == nil && data.Version > Version {
			err = errNewer
		}
		if err != nil {
			return err
		}
		s.Begun, s.PID = e.Time, data.PID
		s.usePlan(data.Plan)
	case KindTools:
		data, err := read[ToolsSeen](e)
		if err != nil {
			return err
		}
		s.Tools[data.Server] = data.Tools
	case KindIntent:
		data, err := read[Intent](e)
		if err != nil {
			return err
		}
		s.intend(data, e.Time)
	case KindOutcome:
		data, err := read[Outcome](e)
		if err != nil {
			return err
		}
		return s.settle(data)
	case KindVerdict:
		data, err := read[Judged](e)
		if err != nil {
			return err
		}
		s.Judged = append(s.Judged, data)
		s.Spent.Tokens, s.Spent.Cost = s.Spent.Tokens+data.Tokens, s.Spent.Cost+data.Cost
	case KindChosen:
		data, err := read[Chosen](e)
		if err != nil {
			return err
		}
		s.Choices = append(s.Choices, data)
		s.Spent.Tokens, s.Spent.Cost = s.Spent.Tokens+data.Tokens, s.Spent.Cost+data.Cost
	case KindStopped:
		data, err := read[Stopped](e)
		if err != nil {
			return err
		}
		s.Stopped = &data
		s.Spent.Tokens, s.Spent.Cost = s.Spent.Tokens+data.Tokens, s.Spent.Cost+data.Cost
	case KindDecided:
		data, err := read[Decided](e)
		if err != nil {
			return err
		}
		if data.Call < 1 || data.Call > len(s.Calls) {
			return fmt.Errorf("entry %d of the task's log records a decision about call %d, which does not exist", e.Seq, data.Call)
		}
		s.Calls[data.Call-1].Decision = data.Decision
	case KindReplanned:
		data, err := read[Replanned](e)
		if err != nil {
			return err
		}
		s.replan(data.Plan)
	case KindResumed:
		data, err := read[Resumed](e)
		if err != nil {
			return err
		}
		s.PID = data.PID
		s.resume()
	case KindDone:
		data, err := read[Done](e)
		if err != nil {
			return err
		}
		s.Done, s.Stopped = &data, nil
	default:
		return fmt.Errorf("entry %d of the task's log has the unknown kind %q: %w", e.Seq, e.Kind, errNewer)
	}
	return nil
}

// usePlan begins a plan, or goes on with a corrected one. A loop has a result from its start.
func (s *State) usePlan(plan Plan) {
	s.Plan = plan
	s.secrets = redact.JoinSecrets(s.secrets, plan.secrets())
	for _, step := range plan.Steps {
		switch result := s.results[step.ID]; {
		case result == nil && step.For != "":
			s.results[step.ID] = &Result{loop: true}
		case result != nil && result.loop && step.For == "":
			delete(s.results, step.ID)
		}
	}
}

// intend adds a call.
func (s *State) intend(i Intent, sent time.Time) {
	c := &Call{Intent: i, Sent: sent, run: s.resumes}
	if before := s.latest[c.place()]; before != nil && !before.granted {
		c.failures = before.failures
		if before.run == c.run {
			c.losses = before.losses
		}
	}
	s.Calls = append(s.Calls, c)
	s.latest[c.place()] = c
	s.Spent.Steps++
}

// settle adds the outcome of a call.
func (s *State) settle(o Outcome) error {
	if o.Call < 1 || o.Call > len(s.Calls) || s.Calls[o.Call-1].Outcome != nil {
		return fmt.Errorf("the task's log has an outcome for call %d, which was never sent or already has one", o.Call)
	}
	c := s.Calls[o.Call-1]
	c.Outcome = &o
	switch {
	case o.Status == OK:
		c.failures, c.losses = 0, 0
		if result := s.results[c.Step]; result != nil && result.loop {
			result.list = append(result.list, &o)
		} else if c.Step != "" {
			s.results[c.Step] = &Result{list: []*Outcome{&o}}
		}
	case o.answered():
		c.failures++
		c.losses = 0
	default:
		c.losses++
	}
	return nil
}

// resume begins another run. What stopped the last one gets another chance.
func (s *State) resume() {
	s.resumes++
	s.corrected = false
	stop := s.Stopped
	s.Stopped = nil
	if stop == nil {
		return
	}
	switch stop.Why {
	case StepFailed, NeedsPerson, ToolChanged:
		if stop.Call > 0 && stop.Call <= len(s.Calls) {
			s.Calls[stop.Call-1].granted = true
		}
		if stop.Why != NeedsPerson {
			s.regret = len(s.Choices)
		}
	case BudgetSpent:
		s.Spent = Spent{}
	case ServerDead:
		if limit := s.Plan.Budget.Time; limit > 0 && s.Spent.Time >= limit {
			s.Spent.Time = 0 // it was spent waiting
		}
	}
}

// text returns the text of the result.
func (r *Result) text() (string, error) {
	var text strings.Builder
	for i, o := range r.list {
		if o.TooLarge > 0 {
			return "", fmt.Errorf("there is %w, because the result was not kept: %w", errMissing, o.tooLarge())
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(o.Text)
	}
	return text.String(), nil
}

// json returns the structured content of the result, or its text parsed as JSON.
func (r *Result) json() (any, error) {
	all := make([]any, 0, len(r.list))
	for _, o := range r.list {
		value, err := o.json()
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	if r.loop {
		return all, nil
	}
	return all[0], nil
}

func (o *Outcome) json() (any, error) {
	if o.TooLarge > 0 {
		return nil, o.tooLarge()
	}
	if o.parsed {
		return o.value, nil
	}
	text := []byte(o.JSON)
	if len(text) == 0 {
		text = []byte(o.Text)
	}
	value, err := decode(text)
	if err != nil {
		return nil, errors.New("the result has no structured content, and its text is not JSON")
	}
	o.value, o.parsed = value, true
	return value, nil
}

// answered reports whether the server answered a call that did not succeed: sending it again may get
// the same answer.
func (o *Outcome) answered() bool {
	return o.Status == Failed || o.Status == Lost && o.Delivery == Answered
}

// givenUp reports whether the call was not sent, because its server was dead and the step says to
// continue.
func (o *Outcome) givenUp() bool { return o.Status == Failed && o.Delivery == Unsent }

// told returns what a person reads about a call that did not succeed.
func (o *Outcome) told() string { return cmp.Or(o.Report, o.Text) }

// tooLarge says why a result is missing.
func (o *Outcome) tooLarge() error {
	if o.TooLarge <= maxResult && o.Limit == 0 {
		return fmt.Errorf("it is %d bytes long and was removed to make room", o.TooLarge)
	}
	return fmt.Errorf("it is %d bytes long; the limit is %d", o.TooLarge, cmp.Or(o.Limit, maxResult))
}

// maxResult limits how much of a result is kept in the log.
const maxResult = 4 << 20

// bounded returns an outcome without a result that is too large for the log.
func (o Outcome) bounded() Outcome {
	if size := len(o.Text) + len(o.JSON); size > maxResult {
		o.Text, o.JSON, o.TooLarge = "", nil, size
	}
	if len(o.JSON) > 0 && !json.Valid(o.JSON) {
		o.JSON = nil
	}
	return o
}
