package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// callFaults lists the faults that a call can request for itself.
var callFaults = []faultyhttp.Fault{
	faultyhttp.RSTBeforeEffect, faultyhttp.FINBeforeEffect, faultyhttp.RSTAfterEffect, faultyhttp.FINAfterEffect,
	faultyhttp.CutBody, faultyhttp.CutSSE, faultyhttp.EndSSE, faultyhttp.ReplaySeen,
	faultyhttp.Status502, faultyhttp.Status502AfterEffect, faultyhttp.Status503, faultyhttp.Status503AfterEffect,
	faultyhttp.Status404,
}

// stormMode is a server that acts, and then answers as if it had not; or one that is replaced
// between two calls, which the caller may not notice.
type stormMode struct {
	faults  []faultyhttp.Fault
	noPing  bool
	resumes bool // its streams can be resumed
	logins  bool // it requires tokens
	between bool // one caller, and faults between its calls
}

// Faults between two calls.
const (
	redeployed faultyhttp.Fault = "redeployed"        // the connections break
	forgotten  faultyhttp.Fault = "forgotten in idle" // only the session is lost
)

var stormModes = map[string]stormMode{
	"404":      {faults: []faultyhttp.Fault{faultyhttp.Status404AfterEffect}},
	"forgets":  {faults: []faultyhttp.Fault{faultyhttp.ForgetAfterEffect}},
	"no-ping":  {faults: []faultyhttp.Fault{faultyhttp.Status404AfterEffect, faultyhttp.ForgetAfterEffect}, noPing: true},
	"401":      {faults: []faultyhttp.Fault{faultyhttp.Status401AfterEffect}},
	"expires":  {faults: []faultyhttp.Fault{faultyhttp.ExpireAfterEffect}, logins: true},
	"redirect": {faults: []faultyhttp.Fault{faultyhttp.RedirectAfterEffect}},
	"redeploy": {faults: []faultyhttp.Fault{redeployed, forgotten}, between: true},
	"mute":     {faults: []faultyhttp.Fault{faultyhttp.MuteSSE}, resumes: true},
}

func modeNames() []string { return slices.Sorted(maps.Keys(stormModes)) }

// webPlan is the plan of a storm, decided before it begins: the calls that carry a fault, and the
// faults of the server.
type webPlan struct {
	fault        []faultyhttp.Fault // by the number of the call; empty for none
	serverFaults []*serverFault     // in order
}

func (s *webStorm) newPlan() *webPlan {
	random := rand.New(rand.NewPCG(s.seed, 2))
	p := &webPlan{fault: make([]faultyhttp.Fault, s.calls)}
	for i := range serverFaults {
		if b := &serverFaults[i]; s.mode == "" && (b.era == "" || b.era == s.dialect.era) {
			p.serverFaults = append(p.serverFaults, slices.Repeat([]*serverFault{b}, max(1, s.faults/b.oneIn))...)
		}
	}
	random.Shuffle(len(p.serverFaults), func(i, k int) { p.serverFaults[i], p.serverFaults[k] = p.serverFaults[k], p.serverFaults[i] })
	possible := callFaults
	if s.mode != "" {
		possible = stormModes[s.mode].faults
	}
	kinds := slices.DeleteFunc(slices.Clone(possible), func(f faultyhttp.Fault) bool {
		return (f == faultyhttp.Status404 || f == forgotten) && s.dialect.era != "legacy" || f == faultyhttp.ReplaySeen && !s.eventIDs
	})
	where := random.Perm(s.calls)[:max(0, s.faults-len(p.serverFaults))]
	for i, n := range where {
		p.fault[n] = kinds[i%len(kinds)]
	}
	return p
}

// plannedCall is one call to make.
type plannedCall struct {
	number    int
	invoked   history.Event // without an id, which the caller chooses
	tool      string
	arguments string
	fault     faultyhttp.Fault
}

// plannedCall returns call number n. Half of the calls append, a tenth sets a register that belongs
// to its caller alone, and the rest read.
func (p *webPlan) plannedCall(caller, n int) plannedCall {
	e := plannedCall{number: n, fault: p.fault[n]}
	work := 0
	if n/2%16 == 0 {
		work = 1 // keeps the call in progress for a millisecond
	}
	own := ""
	if e.fault != "" && e.fault != redeployed && e.fault != forgotten {
		times := 1
		if n%16 == 7 {
			times = 2 // the first repetition fails as well
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

// writes reports whether call number n has an effect.
func writes(n int) bool { return n%2 == 0 || n%10 == 9 }

// largePlannedCall returns a call that does not fit into a connection's buffers, so a server that
// closes the connection in the middle of it has provably not read it.
func largePlannedCall(number, size int) plannedCall {
	key := fmt.Sprintf("large-%d", number)
	return plannedCall{
		number: number, tool: "append", fault: rstInLargeBody, invoked: history.Event{Kind: history.Invoke, Effect: true, Key: key},
		arguments: `{"key":"` + key + `","padding":"` + strings.Repeat("x", size) + `"}`,
	}
}

const rstInLargeBody = faultyhttp.RSTInBody + ", large"

// webEffects returns the server's ledger for the checker. The server is a single process, so each
// of its generations counts as one.
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
