package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/llm"
)

// defaultReconnects is how often a task waits for an attempt to reach a server, as in package
// verdict.
const defaultReconnects = 5

// modelRest is how long a model that did not answer is not asked about servers.
const modelRest = 10 * time.Minute

// ready returns the tools of the server of a call, if it is fit for the call. If the server is not, its
// health is judged, and it is waited for as long as the verdict allows. stop says why the task cannot go
// on, or in which step it goes on without the server.
func (r *Runner) ready(ctx context.Context, i Intent) (tools []Tool, stop *Stopped, err error) {
	server, most := i.Server, cmp.Or(r.MaxReconnects, defaultReconnects)
	var unfit Situation // as judged last
	var outlook verdict.Task
	for tries := 0; ctx.Err() == nil; tries++ {
		tools, lost := r.Servers.Tools(ctx, server)
		now := r.situation(server)
		usable := responds(now) || now.Silent && len(r.state.lost(server)) == 0
		if lost == nil && usable {
			delete(r.without, server)
			stop, err = r.doubt(ctx, i, now)
			return tools, stop, err
		}
		if ctx.Err() != nil {
			break
		}
		if lost != nil {
			if need := needOf(*lost); need != "" {
				return nil, &Stopped{Why: NeedsPerson, Diagnosis: lost.told(), Remedy: lost.Remedy, Message: personMessage(server, need)}, nil
			}
			now.Detail = cmp.Or(now.Detail, lost.told())
			now.Remedy = cmp.Or(now.Remedy, lost.Remedy)
			if responds(now) {
				now.Health = "unresponsive" // it is connected, but does not list its tools
			}
		}
		if tries > 0 && !pause.For(ctx, r.Backoff<<min(tries-1, 6)) {
			break
		}
		if tries < 2 { // as soon as a model may be asked, the others are looked at
			outlook = r.outlook(ctx, i, tries > 0 || now.Reconnects > 0)
		}
		v, err := r.judge(ctx, outlook, now, tries, most)
		if err != nil {
			return nil, nil, err
		}
		waits := v.Action == verdict.Retry || now.Reconnecting || now.Busy
		if v.Action == verdict.Stop || !waits || tries >= most {
			return nil, r.giveUpOn(server, now, v), nil
		}
		unfit = now
		r.Servers.Reconnect(ctx, server)
	}
	return nil, r.waitedInVain(ctx, server, unfit), nil
}

// doubt asks the model about a server that responds, but has lost the same call more than once. Without
// a model, the call is sent maxLosses times.
func (r *Runner) doubt(ctx context.Context, i Intent, now Situation) (*Stopped, error) {
	lost := len(r.state.lost(i.Server))
	if lost < 2 || r.adviser() == nil {
		return nil, nil
	}
	now.Health, now.Reconnecting, now.Busy = "unresponsive", false, false // it answered none of them
	v, err := r.judge(ctx, r.outlook(ctx, i, true), now, lost, maxLosses)
	if err != nil || v.By != verdict.ByModel || v.Action == verdict.Retry {
		return nil, err
	}
	stop := r.giveUpOn(i.Server, now, v)
	if r.without[i.Server] {
		if r.loses == nil {
			r.loses = map[string]bool{}
		}
		r.loses[i.Server] = true
	}
	return stop, nil
}

// recovers reports whether the server may respond soon.
func (s Situation) recovers() bool { return s.Reconnecting || s.Busy }

// giveUpOn returns the stop because of a server that is not waited for any longer. A task whose calls a
// model chooses may go on without it until it responds.
func (r *Runner) giveUpOn(server string, now Situation, v verdict.Verdict) *Stopped {
	if v.Action == verdict.Continue && !now.recovers() && r.state.Plan.ByModel() {
		if r.without == nil {
			r.without = map[string]bool{}
		}
		r.without[server] = true
	}
	return dead(server, now, v)
}

// waitedInVain returns the stop because the budget's time was spent on a server that is down, was
// judged unfit, or has not answered since it lost the last call. It returns nil if something else
// ended ctx.
func (r *Runner) waitedInVain(ctx context.Context, server string, unfit Situation) *Stopped {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	now := r.situation(server)
	if responds(now) && now.Since.IsZero() && unfit.Health == "" {
		return nil // it is only slow
	}
	now.Detail, now.Remedy = cmp.Or(now.Detail, unfit.Detail), cmp.Or(now.Remedy, unfit.Remedy)
	now.Since = cmp.Or(now.Since, unfit.Since)
	if lost := r.state.lost(server); len(lost) > 0 {
		now.Detail = cmp.Or(now.Detail, lost[len(lost)-1].Outcome.told())
	}
	return dead(server, now, verdict.Verdict{Action: verdict.Stop, Reason: "the task's time budget was spent waiting for it"})
}

// situation returns the situation of a server. One that starts and dies again before it answers a
// call has been down since the first call that it did not answer.
func (r *Runner) situation(server string) Situation {
	now := r.Servers.Situation(server)
	if lost := r.state.lost(server); len(lost) > 0 && (now.Since.IsZero() || lost[0].Sent.Before(now.Since)) {
		now.Since = lost[0].Sent
	}
	return now
}

// lost returns the calls of a server since the last one in this run that it answered.
func (s *State) lost(server string) (calls []*Call) {
	for _, c := range slices.Backward(s.Calls) {
		switch {
		case c.Server != server || c.Outcome != nil && c.Outcome.givenUp():
		case c.run == s.resumes && c.Outcome != nil && c.Outcome.Status == Lost:
			calls = append(calls, c)
		default:
			slices.Reverse(calls)
			return calls
		}
	}
	slices.Reverse(calls)
	return calls
}

func responds(s Situation) bool { return s.Health == "healthy" || s.Health == "degraded" }

// judge asks for the verdict of the rules, or of the model within their bounds, and records it.
func (r *Runner) judge(ctx context.Context, outlook verdict.Task, now Situation, tries, most int) (verdict.Verdict, error) {
	s := now.Situation
	s.Reconnects, s.MaxReconnects, s.Task = max(s.Reconnects, tries), most, outlook
	s.Automatic = s.Reconnects - tries
	if r.state.Plan.Budget.Time > 0 {
		s.Task.HasDeadline, s.Task.Left = true, r.left()
	}
	if hide := s.Hide; hide != nil {
		s.Hide = func(text string) string { return r.state.Hide(hide(text)) }
	} else {
		s.Hide = r.state.Hide
	}
	v, err := verdict.Evaluate(ctx, s, r.adviser())
	if err != nil {
		return v, fmt.Errorf("cannot decide what to do about the server %q: %w", s.Server, err)
	}
	if v.Consulted.Silent() {
		r.unheard = time.Now()
	}
	j := Judged{Server: s.Server, Health: s.Health, Action: string(v.Action), Reason: v.Reason, By: v.By}
	if v.Consulted != nil {
		j.Tokens, j.Cost = v.Consulted.Usage.InputTokens+v.Consulted.Usage.OutputTokens, v.Consulted.Usage.Cost
		j.Rejected = v.Consulted.Rejected
	}
	n := len(r.state.Judged)
	if same := n > 0 && r.state.Judged[n-1] == j; same && tries > 0 && v.Consulted == nil {
		return v, nil
	}
	return v, r.write(KindVerdict, j)
}

// adviser returns the model that is asked about servers, or nil: there is none, it did not answer a
// moment ago, or the task's budget for it is spent.
func (r *Runner) adviser() llm.Model {
	resting := !r.unheard.IsZero() && time.Since(r.unheard) < modelRest
	if r.Model == nil || resting || r.state.overBudget() != nil {
		return nil
	}
	return r.Model
}

// dead returns the stop because of a server that is not coming back.
func dead(server string, now Situation, v verdict.Verdict) *Stopped {
	message := fmt.Sprintf("The server %q is not available: %s.", server, v.Reason)
	switch {
	case v.Action == verdict.Retry || v.Action == verdict.Continue && now.recovers():
		message = fmt.Sprintf("The server %q is not available: all attempts to reconnect failed.", server)
	case v.By == verdict.ByModel:
		message = fmt.Sprintf("The server %q is not available. The model decided: %s.", server, strings.TrimRight(v.Reason, ". "))
	}
	since := now.Since
	if since.IsZero() {
		since = time.Now()
	}
	return &Stopped{Why: ServerDead, Server: server, Since: since.UTC(), Remedy: now.Remedy,
		Diagnosis: cmp.Or(now.Cause.Explanation, now.Detail), Message: message}
}
