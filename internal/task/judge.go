package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/verdict"
)

// defaultReconnects is how often a task waits for an attempt to reach a server, as in package
// verdict.
const defaultReconnects = 5

// ready returns the tools of a server that is fit for a call. If the server is not, its health is
// judged, and it is waited for as long as the verdict allows. stop says why the task cannot go on.
func (r *Runner) ready(ctx context.Context, server string) (tools []Tool, stop *Stopped, err error) {
	most := cmp.Or(r.MaxReconnects, defaultReconnects)
	var unfit Situation // as judged last
	for tries := 0; ctx.Err() == nil; tries++ {
		tools, lost := r.Servers.Tools(ctx, server)
		now := r.situation(server)
		if lost == nil && responds(now) {
			return tools, nil, nil
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
		if tries > 0 && !pause(ctx, r.Backoff<<min(tries-1, 6)) {
			break
		}
		v, err := r.judge(ctx, now, tries, most)
		if err != nil {
			return nil, nil, err
		}
		if v.Action == verdict.Stop || tries >= most {
			return nil, dead(server, now, v), nil
		}
		unfit = now
		r.Servers.Reconnect(ctx, server)
	}
	return nil, r.waitedInVain(ctx, server, unfit), nil
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
	return dead(server, now, verdict.Verdict{Action: verdict.Stop, Reason: "the task's budget of time was spent waiting for it"})
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
func (r *Runner) judge(ctx context.Context, now Situation, tries, most int) (verdict.Verdict, error) {
	s := now.Situation
	s.Reconnects, s.MaxReconnects = max(s.Reconnects, tries), most
	s.Task = verdict.Task{Goal: cmp.Or(r.state.Plan.Goal, r.state.Plan.Name), Done: r.state.doneSteps(), Total: len(r.state.Plan.Steps), Needs: verdict.NeedAll}
	if r.state.Plan.ByModel() {
		s.Task.Needs = verdict.NeedUnknown
	}
	if r.state.Plan.Budget.Time > 0 {
		s.Task.HasDeadline, s.Task.Left = true, r.left()
	}
	v, err := verdict.Evaluate(ctx, s, r.Model)
	if err != nil {
		return v, fmt.Errorf("judging the server %q: %w", s.Server, err)
	}
	j := Judged{Server: s.Server, Health: s.Health, Action: string(v.Action), Reason: v.Reason, By: v.By}
	if v.Consulted != nil {
		j.Tokens, j.Cost = v.Consulted.Usage.InputTokens+v.Consulted.Usage.OutputTokens, v.Consulted.Usage.Cost
	}
	if n := len(r.state.Judged); n > 0 && r.state.Judged[n-1] == j && tries > 0 {
		return v, nil
	}
	return v, r.write(KindVerdict, j)
}

// dead returns the stop because of a server that is not coming back.
func dead(server string, now Situation, v verdict.Verdict) *Stopped {
	reason := v.Reason
	if v.Action != verdict.Stop {
		reason = "all attempts to reconnect failed"
	}
	since := now.Since
	if since.IsZero() {
		since = time.Now()
	}
	return &Stopped{Why: ServerDead, Server: server, Since: since.UTC(), Remedy: now.Remedy,
		Diagnosis: cmp.Or(now.Cause.Explanation, now.Detail),
		Message:   fmt.Sprintf("The server %q is not available: %s.", server, reason)}
}
