package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/bench/history"
	"github.com/gauze-mcp/gauze/internal/faultyserver/faultyhttp"
)

// callFaults are what a call can ask to go wrong with itself.
var callFaults = []faultyhttp.Fault{
	faultyhttp.RSTBeforeEffect, faultyhttp.FINBeforeEffect, faultyhttp.RSTAfterEffect, faultyhttp.FINAfterEffect,
	faultyhttp.CutBody, faultyhttp.CutSSE, faultyhttp.EndSSE, faultyhttp.ReplaySeen,
	faultyhttp.Status502, faultyhttp.Status502AfterEffect, faultyhttp.Status503, faultyhttp.Status503AfterEffect,
	faultyhttp.Status404,
}

// webPlan is what goes wrong, decided before it begins: so many calls that
// bring a fault with them, and so many blows at the server.
type webPlan struct {
	fault []faultyhttp.Fault // by the number of the call; "": none
	blows []*blow            // in their order
}

func (s *webStorm) newPlan() *webPlan {
	random := rand.New(rand.NewPCG(s.seed, 2))
	p := &webPlan{fault: make([]faultyhttp.Fault, s.calls)}
	for i := range blows {
		if b := &blows[i]; b.era == "" || b.era == s.dialect.era {
			p.blows = append(p.blows, slices.Repeat([]*blow{b}, max(1, s.faults/b.oneIn))...)
		}
	}
	random.Shuffle(len(p.blows), func(i, k int) { p.blows[i], p.blows[k] = p.blows[k], p.blows[i] })
	kinds := slices.DeleteFunc(slices.Clone(callFaults), func(f faultyhttp.Fault) bool {
		return f == faultyhttp.Status404 && s.dialect.era != "legacy" || f == faultyhttp.ReplaySeen && !s.eventIDs
	})
	where := random.Perm(s.calls)[:max(0, s.faults-len(p.blows))]
	for i, n := range where {
		p.fault[n] = kinds[i%len(kinds)]
	}
	return p
}

// errand is one call to be made.
type errand struct {
	number    int
	invoked   history.Event // without an id: that is up to who asks
	tool      string
	arguments string
	fault     faultyhttp.Fault
}

// errand number n: half of them append, a tenth sets a register that belongs
// to its caller alone, the rest reads.
func (p *webPlan) errand(caller, n int) errand {
	e := errand{number: n, fault: p.fault[n]}
	work := 0
	if n/2%16 == 0 {
		work = 1 // in the middle of it for a millisecond
	}
	own := ""
	if e.fault != "" {
		times := 1
		if n%16 == 7 {
			times = 2 // what is repeated fails once more
		}
		own = fmt.Sprintf(`,"fault":%q,"times":%d`, e.fault, times)
	}
	switch {
	case n%2 == 0:
		e.tool, e.invoked = "append", history.Event{Effect: true, Key: fmt.Sprintf("key-%d", n)}
		e.arguments = fmt.Sprintf(`{"key":%q,"ms":%d%s}`, e.invoked.Key, work, own)
	case n%10 == 9:
		register := fmt.Sprintf("register-%d", caller)
		e.tool, e.invoked = "put", history.Event{Effect: true, Register: register, Key: fmt.Sprintf("%s is %d", register, n)}
		e.arguments = fmt.Sprintf(`{"key":%q,"value":"%d","ms":%d%s}`, register, n, work, own)
	default:
		e.tool, e.invoked = "echo", history.Event{Key: fmt.Sprintf("text-%d", n)}
		e.arguments = fmt.Sprintf(`{"text":%q,"ms":%d%s}`, e.invoked.Key, work, own)
	}
	e.invoked.Kind = history.Invoke
	return e
}

// writes says whether errand number n changes anything.
func writes(n int) bool { return n%2 == 0 || n%10 == 9 }

// largeErrand does not fit into the buffers of a connection: a server that
// hangs up in the middle of it has provably not read it.
func largeErrand(number, size int) errand {
	key := fmt.Sprintf("large-%d", number)
	return errand{
		number: number, tool: "append", fault: rstInLargeBody, invoked: history.Event{Kind: history.Invoke, Effect: true, Key: key},
		arguments: `{"key":"` + key + `","padding":"` + strings.Repeat("x", size) + `"}`,
	}
}

const rstInLargeBody = faultyhttp.RSTInBody + ", large"

// webEffects is the ledger as the checker wants it. The server is one process
// all the time: each of its generations counts as one.
func webEffects(server *faultyhttp.Server) ([]history.Effect, error) {
	entries, err := server.Entries()
	var effects []history.Effect
	for _, e := range entries {
		key := e.Key
		if e.Op == "put" {
			key += " is " + e.Value
		}
		effects = append(effects, history.Effect{Key: key, PID: e.Generation})
	}
	return effects, err
}
