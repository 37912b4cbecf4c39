package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// StateIdle is the state of a gateway without sessions: no server is needed, and none runs.
const StateIdle = "idle"

// Observe returns the sum over all sessions, also those that have ended, and how many have not. The
// state is the worst of theirs. The log is that of the session in this state.
func (g *Gateway) Observe(detail bool) (sum proxy.Observation, sessions int) {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	past := g.table.seen
	if !detail {
		past.Tools, past.Recent = nil, nil
	}
	sum.Add(past)
	sum.State = StateIdle
	clients := map[string]bool{}
	for _, s := range g.table.servers() {
		o := s.Observe(detail)
		sum.Add(o)
		if sessions++; sessions == 1 || severity(o.State) > severity(sum.State) {
			sum.State, sum.Up, sum.PID, sum.Health, sum.Log = o.State, o.Up, o.PID, o.Health, o.Log
		}
		clients[o.Client] = true
		sum.Client = o.Client
	}
	if len(clients) > 1 {
		sum.Client = "" // several: each call has its own
	}
	return sum, sessions
}

// maxPrinted is how many lines Printed returns at most.
const maxPrinted = 500

// Printed returns the last lines that the servers of the sessions printed, oldest first, without
// secrets. It does not hold the table's lock while it masks them.
func (g *Gateway) Printed() []upstream.Line {
	return lastPrinted(g.running())
}

// lastPrinted merges the last lines of sessions by their time.
func lastPrinted[S interface{ Printed() []upstream.Line }](sessions []S) (lines []upstream.Line) {
	for _, session := range sessions {
		lines = append(lines, session.Printed()...)
		slices.SortStableFunc(lines, func(a, b upstream.Line) int { return a.Time.Compare(b.Time) })
		lines = lines[max(0, len(lines)-maxPrinted):]
	}
	return lines
}

// running returns the sessions that have not ended.
func (g *Gateway) running() []*proxy.Session {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	return g.table.servers()
}

// severity orders states from best to worst.
func severity(state string) int {
	for i, s := range []string{proxy.StateAsleep, health.Healthy.String(), proxy.StateStarting, health.Degraded.String(), health.Unresponsive.String(), health.Dead.String()} {
		if s == state {
			return i
		}
	}
	return -1
}

// Restart replaces the servers of all sessions, each when none of its calls is in flight. The error
// is about those that were not replaced when ctx ended.
func (g *Gateway) Restart(ctx context.Context) error {
	all := g.running()
	if len(all) == 0 {
		return errors.New("not restarted: no client is connected, so no server is running")
	}
	failed := make([]error, len(all))
	var restarting sync.WaitGroup
	for i, session := range all {
		restarting.Go(func() { failed[i] = session.Restart(ctx) })
	}
	restarting.Wait()
	return errors.Join(failed...)
}
