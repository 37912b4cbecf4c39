package task

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Excerpt is what one decision needs of a State. A loop whose log is elsewhere sends it to the
// process that has the servers, which carries the decision out with Act.
type Excerpt struct {
	Decision   Decision                     `json:"decision"`
	Plan       Plan                         `json:"plan"` // without what the steps send
	NumCalls   int                          `json:"num-calls"`
	NumChoices int                          `json:"num-choices,omitempty"`
	Calls      []*Call                      `json:"calls,omitempty"` // those that the decision depends on
	Tools      map[string]map[string]string `json:"tools,omitempty"`
	Spent      Spent                        `json:"spent"`
}

// Excerpt returns what the decision needs at the time now.
func (s *State) Excerpt(d Decision, now time.Time) Excerpt {
	e := Excerpt{Decision: d, Plan: s.Plan, NumCalls: len(s.Calls), NumChoices: len(s.Choices), Spent: s.Spent}
	e.Plan.Steps = nil
	var unseen []string
	if d.Intent != nil {
		unseen = s.unseen(s.Plan.Steps, d.Intent.Server)
	}
	for _, step := range s.Plan.Steps {
		short := Step{ID: step.ID, Server: step.Server, For: step.For, OnError: step.OnError}
		if slices.Contains(unseen, step.Server) {
			short.Tool, short.Unlisted = step.Tool, step.Unlisted // without them, the names are not checked
		}
		e.Plan.Steps = append(e.Plan.Steps, short)
	}
	e.Spent.Time += max(0, now.Sub(s.Changed))
	from := len(s.Calls) - 1 // the last call says how far the task is
	if d.Do == DoAsk {
		from = len(s.Calls) - maxShownCalls
	} else if d.Intent != nil && s.Tools[d.Intent.Server] != nil {
		e.Tools = map[string]map[string]string{d.Intent.Server: s.Tools[d.Intent.Server]}
	}
	for i, c := range s.Calls {
		stops := d.Stop != nil && c.Call == d.Stop.Call
		if i >= from || c.Call == d.Repeats || stops {
			e.Calls = append(e.Calls, c.short(d.Do != DoCall))
		}
	}
	return e
}

// short returns a call with at most what a model or a message shows of its result.
func (c *Call) short(result bool) *Call {
	short := &Call{Intent: c.Intent, Sent: c.Sent, Decision: c.Decision}
	if !result {
		short.Arguments = nil
	}
	if c.Outcome == nil {
		return short
	}
	o := *c.Outcome
	text := o.Text
	if text == "" {
		text = string(o.JSON)
	}
	o.Text, o.JSON = "", nil
	if result {
		o.Text = plaintext.Cap(plaintext.Clean(text), maxShownResult)
	}
	short.Outcome = &o
	return short
}

// state returns a state in which the decision is carried out as in the whole one.
func (e Excerpt) state(now time.Time) *State {
	s := &State{
		Seq: 1, Plan: e.Plan, Begun: now, Changed: now, Calls: make([]*Call, e.NumCalls), Choices: make([]Chosen, e.NumChoices),
		Spent: e.Spent, Tools: e.Tools, latest: map[place]*Call{}, results: map[string]*Result{},
	}
	if s.Tools == nil {
		s.Tools = map[string]map[string]string{}
	}
	for i := range s.Calls {
		s.Calls[i] = &Call{}
	}
	for _, c := range e.Calls {
		s.Calls[c.Call-1] = c
	}
	return s
}

// Act carries out the decision of an excerpt up to the call that it leads to, and returns the
// entries to add to the log. If the last one is an intent, the call is not sent yet: Send sends it
// once the intent is durable. The Log of the Runner is not used.
func (r *Runner) Act(ctx context.Context, e Excerpt) ([]Entry, error) {
	r.begun = time.Now()
	r.state = e.state(r.begun)
	log := &draft{}
	r.Log = log
	r.defaults()
	for len(log.entries) == 0 {
		if err := r.act(ctx, e.Decision); err != nil && !errors.Is(err, errIntended) {
			return nil, err
		}
	}
	return log.entries, nil
}

// Send sends the call of an intent that is durable. left is what is left of the budget's time, or 0
// if that is not limited.
func (r *Runner) Send(ctx context.Context, i Intent, left time.Duration) Outcome {
	r.defaults()
	if left > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	return r.send(ctx, i)
}

// Left returns what is left of the budget's time at the time now: at least a nanosecond, or 0 if it
// is not limited.
func (s *State) Left(now time.Time) time.Duration {
	if s.Plan.Budget.Time == 0 {
		return 0
	}
	return max(1, s.Plan.Budget.Time-s.Spent.Time-max(0, now.Sub(s.Changed)))
}

func (r *Runner) defaults() {
	r.Grace, r.Backoff = cmp.Or(r.Grace, 2*time.Second), cmp.Or(r.Backoff, time.Second)
}

// draft collects entries up to the first intent without an outcome, after which nothing may happen.
type draft struct{ entries []Entry }

// errIntended means that an intent was drafted: it is not durable yet, so the call must wait.
var errIntended = errors.New("the call has not been durably recorded yet")

func (d *draft) Append(_ context.Context, _ string, after int, entries ...Entry) (int, error) {
	d.entries = append(d.entries, entries...)
	if entries[len(entries)-1].Kind == KindIntent {
		return 0, errIntended
	}
	return after + len(entries), nil
}

func (d *draft) Entries(context.Context, string) ([]Entry, error) { return d.entries, nil }

// NewEntry returns data as an entry of this kind, without its Seq.
func NewEntry(kind string, data any, now time.Time) Entry { return entry(kind, data, now) }
