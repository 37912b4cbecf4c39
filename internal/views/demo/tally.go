package demo

import (
	"fmt"
	"sync"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/views/demo/breakable"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// tally records the calls and their responses.
type tally struct {
	mu       sync.Mutex
	calls    map[int]*record
	plan     []string // effects of the task
	problems []string
}

type record struct {
	tool, key string
	done      bool
	fault     string
	corrected bool // by a model
}

// verdict is the count at the end. broken names every guarantee that was violated.
type verdict struct {
	calls, answers, succeeded, unknown int
	explained, corrected               int
	repaired                           uint64
	replays, restarts, stray           uint64
	effects                            int // as recorded in the server's own ledger
	twice                              int
	planned                            int // effects of the task that happened once
	broken                             []string
}

func newTally() *tally { return &tally{calls: map[int]*record{}} }

func (t *tally) called(id int, tool, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[id] = &record{tool: tool, key: key}
}

func (t *tally) answered(id int, a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[id].done, t.calls[id].fault, t.calls[id].corrected = true, a.fault, a.model != ""
}

// planned records the effects of a task that is done.
func (t *tally) planned(keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plan = append(t.plan, keys...)
}

// broke records a violated guarantee.
func (t *tally) broke(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, what)
}

// judge compares the responses with what the server did.
func (t *tally) judge(ledger []breakable.Entry, calls proxy.Counters, h health.Snapshot) verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := verdict{calls: len(t.calls), replays: calls.Replayed, restarts: uint64(h.Restarts), stray: calls.Stray, repaired: calls.Repaired, broken: t.problems}
	broke := func(format string, args ...any) { v.broken = append(v.broken, fmt.Sprintf(format, args...)) }
	done := map[string]int{}
	for _, entry := range ledger {
		if entry.Op == "append" || entry.Op == "die" {
			v.effects++
			done[entry.Key]++
		}
	}
	for key, times := range done {
		if times > 1 {
			v.twice++
			broke("effect %s was applied %d times", key, times)
		}
	}
	for _, key := range t.plan {
		if done[key] == 0 {
			broke("the task is done, but its effect %s is not in the ledger", key)
		}
		if done[key] == 1 {
			v.planned++
		}
	}
	for id, call := range t.calls {
		if !call.done {
			broke("call %d (%s) did not get a response", id, call.tool)
			continue
		}
		v.answers++
		if call.corrected {
			v.corrected++
		}
		switch {
		case call.fault == "":
			v.succeeded++
			if call.key != "" && done[call.key] == 0 {
				broke("call %d (%s) succeeded, but its effect is not in the ledger", id, call.tool)
			}
		case call.fault == "outcome-unknown":
			v.unknown++
			if call.key == "" {
				broke("call %d (%s) is read-only, but its outcome was reported as unknown", id, call.tool)
			}
		case call.fault == "arguments-invalid":
			v.explained++
		default:
			broke("call %d (%s) failed with %s", id, call.tool, call.fault)
		}
	}
	return v
}
