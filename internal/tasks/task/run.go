package task

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/llm"
)

// Runner runs one task. Log, Servers and ID are required.
type Runner struct {
	ID      string
	Log     Log
	Servers Servers
	Model   llm.Model // may be nil unless the plan has no steps

	// Hurry is closed to stop without waiting for the call that is in progress. May be nil.
	Hurry <-chan struct{}
	// Grace is how long a call in progress may take to end after the task was interrupted. Default
	// 2s.
	Grace time.Duration
	// Tell is called after every entry that is durable. May be nil.
	Tell func(*State, Entry)
	// Backoff is the wait before the second attempt of a call. It doubles with each further one.
	// Default 1s.
	Backoff time.Duration
	// MaxReconnects limits the attempts to reach a server. Default 5.
	MaxReconnects int

	state *State
	begun time.Time // of this run

	without map[string]bool // servers that a task whose calls a model chooses does without
	loses   map[string]bool // those of them that respond, but lost calls: they stay out
	unheard time.Time       // when the model last gave no answer about a server
}

// Start writes the first entry of a task.
func Start(ctx context.Context, log Log, id string, plan *Plan) error {
	_, err := log.Append(ctx, id, 0, entry(KindStarted, Started{Version, *plan, os.Getpid()}, time.Now()))
	return err
}

// Run runs the task until it is complete, stops, or ctx is done. A task that was stopped is resumed.
// The error is one of the log: the task is where its last entry says.
func (r *Runner) Run(ctx context.Context) (*State, error) {
	var err error
	if r.state, err = stateOf(ctx, r.Log, r.ID); err != nil {
		return nil, err
	}
	r.begun = time.Now()
	r.defaults()
	if (r.state.Seq > 1 || r.state.PID != os.Getpid()) && r.state.Done == nil {
		if err := r.write(KindResumed, Resumed{os.Getpid()}); err != nil {
			return r.state, err
		}
	}
	for {
		next := r.state.Next()
		if next.Do == DoRest {
			return r.state, nil
		}
		if err := r.act(ctx, next); err != nil {
			return r.state, err
		}
	}
}

// act does what was decided. Every way out of it has written an entry, so the next decision differs.
func (r *Runner) act(ctx context.Context, d Decision) error {
	switch {
	case d.Do == DoFinish:
		return r.write(KindDone, Done{d.Summary})
	case ctx.Err() != nil:
		return r.stop(Stopped{Why: Interrupted, Message: "The task was interrupted."})
	case d.Do == DoStop && d.Stop.Why == ServerDead && r.state.continues(d.Stop.Step):
		again := r.state.again(r.state.Calls[d.Stop.Call-1], false)
		return r.giveUp(*again.Intent, r.explained(*d.Stop))
	case d.Do == DoStop:
		return r.stop(r.explained(*d.Stop))
	case r.left() <= 0:
		return r.stop(*budgetStop(r.state.Plan.Budget.Time.String(), ""))
	}
	work, cancel := r.withinTime(ctx)
	defer cancel()
	if d.Do == DoAsk {
		return r.ask(work)
	}
	return r.step(work, d)
}

// step is the story of one call: wait, check the server, the names and the tool, write the intent, send,
// write the outcome.
func (r *Runner) step(ctx context.Context, d Decision) error {
	i := *d.Intent
	if c := r.state.doubtful(i.place()); c != nil {
		return r.stop(r.explained(*stop(c, NeedsDecision, c.doubt()).Stop))
	}
	var tools []Tool
	var stop *Stopped
	var err error
	if d.Waits > 0 && !pause.For(ctx, r.Backoff<<min(d.Waits-1, 6)) {
		if len(r.state.lost(i.Server)) > 0 { // otherwise it answered, and was not waited for
			stop = r.waitedInVain(ctx, i.Server, Situation{})
		}
	} else {
		tools, stop, err = r.ready(ctx, i)
	}
	if err != nil || stop == nil && ctx.Err() != nil {
		return err // the loop finds out what ended ctx
	}
	if stop == nil {
		if stop := r.checkNames(ctx, i); stop != nil {
			return r.stop(*stop)
		}
		if ctx.Err() != nil {
			return nil
		}
		stop, err = r.checkTool(&i, d, tools)
	}
	if err != nil {
		return err
	}
	if stop != nil {
		stop.Step, stop.Item, stop.Server = i.Step, i.Item, i.Server
		goesOn := r.state.continues(i.Step) || r.without[i.Server]
		if goesOn && stop.Why == ServerDead && ctx.Err() == nil {
			return r.giveUp(i, *stop)
		}
		return r.stop(*stop)
	}
	if err := r.write(KindIntent, i); err != nil {
		return fmt.Errorf("the call was not sent, because it could not be recorded: %w", err)
	}
	if err := r.write(KindOutcome, r.send(ctx, i)); err != nil {
		return fmt.Errorf("the call was sent, but its outcome could not be recorded: %w", err)
	}
	return nil
}

// giveUp records a call that was not sent, because its server is dead, as one that failed: the task
// goes on without it. One write: an intent without an outcome would be a call that was sent.
func (r *Runner) giveUp(i Intent, why Stopped) error {
	i.Class = Unsafe
	o := Outcome{Call: i.Call, Status: Failed, Delivery: Unsent, Text: strings.TrimSpace(why.Message + " " + why.Diagnosis)}
	now := time.Now()
	return r.append(entry(KindIntent, i, now), entry(KindOutcome, o.bounded(), now))
}

// send sends a call and returns how it ended.
func (r *Runner) send(ctx context.Context, i Intent) Outcome {
	call, cancel := r.graceful(ctx)
	defer cancel()
	sent := time.Now()
	reply := r.Servers.Call(call, i.Server, i.Tool, i.Arguments)
	return outcomeOf(i, reply, time.Since(sent))
}

// outcomeOf returns a reply as an entry. A call that may have had its effect is not sent again
// because a person did what it needs.
func outcomeOf(i Intent, reply Reply, took time.Duration) Outcome {
	o := Outcome{
		Call: i.Call, Status: reply.Status, Text: reply.Text, Report: reply.Report, JSON: reply.JSON, Delivery: reply.Delivery,
		Fault: reply.Fault, Cause: reply.Cause, Healed: reply.Healed, Took: took,
	}
	switch {
	case o.Status == OK:
	case o.Status == Lost && o.Delivery != Unsent && i.Class == Unsafe:
		o.Person = needOf(reply)
	default:
		o.Need = needOf(reply)
	}
	return o.bounded()
}

// checkTool fills in the class and the shape of a tool, and returns why the call must not be sent,
// or nil. What changed is recorded.
func (r *Runner) checkTool(i *Intent, d Decision, tools []Tool) (*Stopped, error) {
	shapes := make(map[string]string, len(tools))
	var found *Tool
	for k := range tools {
		shapes[tools[k].Name] = tools[k].Shape
		if tools[k].Name == i.Tool {
			found = &tools[k]
		}
	}
	known, seen := r.state.Tools[i.Server]
	before, had := known[i.Tool]
	i.Class = Unsafe
	if found != nil {
		i.Class, i.Shape = found.Class, found.Shape
	}
	switch {
	case d.Repeats > 0 && r.state.Calls[d.Repeats-1].Shape != i.Shape:
		return &Stopped{Why: NeedsDecision, Call: d.Repeats, Message: fmt.Sprintf("It is unknown whether the call to %s on the server %q took effect, and the tool has changed since then.", i.Tool, i.Server)}, nil
	case had && found == nil:
		return &Stopped{Why: ToolChanged, Message: fmt.Sprintf("The server %q no longer has the tool %s, which the next step calls.", i.Server, i.Tool)}, nil
	case had && before != found.Shape && found.Accepts != nil:
		if err := found.Accepts(i.Arguments); err != nil {
			return &Stopped{Why: ToolChanged, Message: fmt.Sprintf("The tool %s on the server %q changed and no longer accepts the next step's arguments: %v", i.Tool, i.Server, err)}, nil
		}
	}
	if seen && sameShapes(known, shapes) {
		return nil, nil
	}
	return nil, r.write(KindTools, ToolsSeen{i.Server, shapes})
}

func sameShapes(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, shape := range a {
		if b[name] != shape {
			return false
		}
	}
	return true
}

// write makes an entry durable and applies it.
func (r *Runner) write(kind string, data any) error { return r.append(entry(kind, data, time.Now())) }

// append makes entries durable, all of them or none, and applies them.
func (r *Runner) append(entries ...Entry) error {
	last, err := r.Log.Append(context.Background(), r.ID, r.state.Seq, entries...)
	if err != nil {
		return err
	}
	for i, e := range entries {
		e.Seq = last - len(entries) + 1 + i
		if err := r.state.Apply(e); err != nil {
			return err
		}
		if r.Tell != nil {
			r.Tell(r.state, e)
		}
	}
	return nil
}

func (r *Runner) stop(s Stopped) error { return r.write(KindStopped, s) }

// explained adds to a stop what is known about its server.
func (r *Runner) explained(s Stopped) Stopped {
	s = r.state.Explain(s)
	if s.Why == ServerDead {
		now := r.situation(s.Server)
		s.Since, s.Remedy, s.Diagnosis = now.Since, now.Remedy, cmp.Or(now.Cause.Explanation, now.Detail, s.Diagnosis)
	}
	return s
}

// Explain adds to a stop what the call that it is about reported.
func (s *State) Explain(stop Stopped) Stopped {
	if stop.Call > 0 && stop.Diagnosis == "" {
		if o := s.Calls[stop.Call-1].Outcome; o != nil && o.Status != OK {
			stop.Diagnosis = plaintext.Cap(o.told(), maxShownResult) // the outcome has all of it
		}
	}
	return stop
}

// left returns how much of the budget's time is left.
func (r *Runner) left() time.Duration {
	limit := r.state.Plan.Budget.Time
	if limit == 0 {
		return time.Hour
	}
	return limit - r.state.Spent.Time - time.Since(r.since())
}

// since returns from when on time is not yet part of Spent.
func (r *Runner) since() time.Time {
	if r.state.Changed.Before(r.begun) {
		return r.begun
	}
	return r.state.Changed
}

// withinTime returns a context that ends when the budget's time is spent.
func (r *Runner) withinTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.state.Plan.Budget.Time == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, max(0, r.left()))
}

// graceful returns a context for a call in progress: it ends a little after ctx, and immediately
// with Hurry.
func (r *Runner) graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	hurry, grace := r.Hurry, r.Grace
	go func() {
		select {
		case <-call.Done():
			return
		case <-hurry:
		case <-ctx.Done():
			timer := time.NewTimer(grace)
			defer timer.Stop()
			select {
			case <-call.Done():
			case <-hurry:
			case <-timer.C:
			}
		}
		cancel()
	}()
	return call, cancel
}
