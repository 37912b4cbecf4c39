package task

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// outlook returns what a verdict about the server of a call depends on: what the task has done, and
// what it can do without the server. others means that the other servers are looked at.
func (r *Runner) outlook(ctx context.Context, next Intent, others bool) verdict.Task {
	plan := &r.state.Plan
	t := verdict.Task{Goal: cmp.Or(plan.Goal, plan.Name), Total: len(plan.Steps), Completed: r.state.completed()}
	if plan.ByModel() {
		rest := slices.DeleteFunc(slices.Sorted(maps.Keys(plan.Servers)), func(name string) bool { return name == next.Server || r.without[name] })
		t.OthersHealthy = others && r.Model != nil && r.work(ctx, rest)
		return t
	}
	t.Done, t.Needs = min(r.state.indexOf(next.Step), len(plan.Steps)), verdict.NeedAll
	var rest []string // other servers that the remaining steps use
	for _, step := range plan.Steps[t.Done:] {
		needs := step.Server == next.Server
		t.Remaining = append(t.Remaining, verdict.Step{Name: r.state.ahead(step, next), Needs: needs, Required: !step.OnError.Continue})
		if !needs && !slices.Contains(rest, step.Server) {
			rest = append(rest, step.Server)
		}
	}
	if len(rest) > 0 {
		t.Needs = verdict.NeedSome
		t.OthersHealthy = others && r.Model != nil && r.work(ctx, rest)
	}
	return t
}

// work reports whether there are servers, and all of them respond.
func (r *Runner) work(ctx context.Context, servers []string) bool {
	for _, server := range servers {
		if _, lost := r.Servers.Tools(ctx, server); lost != nil || !responds(r.Servers.Situation(server)) {
			return false
		}
	}
	return len(servers) > 0
}

// completed returns the calls that succeeded, each step once, in order.
func (s *State) completed() (done []string) {
	for _, c := range s.Calls {
		if c.Outcome == nil || c.Outcome.Status != OK {
			continue
		}
		if name := named(c.Step, c.Server, c.Tool); len(done) == 0 || done[len(done)-1] != name {
			done = append(done, name)
		}
	}
	return done
}

// ahead describes a step that is left. next is the call that waits for its server.
func (s *State) ahead(step Step, next Intent) string {
	if step.ID == next.Step {
		step.Tool = next.Tool
	}
	name := named(step.ID, step.Server, step.Tool)
	if step.For != "" {
		name += " for each item of a list"
	}
	if lost := s.lost(next.Server); step.ID == next.Step && len(lost) > 0 {
		name += ", sent " + plaintext.Count(len(lost), "time") + " without an answer"
	}
	return name
}

// named returns what identifies a step for a reader: its id and its tool, as far as they are known.
func named(id, server, tool string) string {
	if tool != "" {
		server += "/" + tool
	}
	if id == "" {
		return server
	}
	return id + " (" + server + ")"
}
