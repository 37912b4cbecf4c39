package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/bench/history"
	"github.com/gauze-mcp/gauze/internal/faultyserver/faultyhttp"
)

// blow is what is done to the server rather than to one call.
type blow struct {
	name   string
	era    string // "": all
	oneIn  int    // of all faults
	strike func(*fury) error
	wide   bool // it hits everything in flight
}

var blows = []blow{
	{name: "restart", oneIn: 25, strike: (*fury).restart, wide: true},
	{name: "expire-sessions", era: "legacy", oneIn: 50, strike: (*fury).expire, wide: true},
	{name: "drop-connections", oneIn: 50, strike: (*fury).drop, wide: true},
	{name: string(faultyhttp.RSTOnAccept), oneIn: 50, strike: (*fury).refuse, wide: true},
	{name: string(faultyhttp.RSTInBody), oneIn: 50, strike: (*fury).bite},
	{name: string(rstInLargeBody), oneIn: 100, strike: (*fury).biteLarge},
}

// fury strikes the server again and again, evenly spread over the answers.
type fury struct {
	crew   *crew
	server *faultyhttp.Server
	plan   *webPlan
	random *rand.Rand
	every  int64         // answers from one blow to the next
	over   chan struct{} // closed: nobody calls any more

	mu     sync.Mutex
	struck map[string]int
	large  int // calls made by us
	size   int // of each
	err    error
}

func (s *webStorm) newFury(c *crew, server *faultyhttp.Server) *fury {
	return &fury{
		crew: c, server: server, plan: c.plan, random: rand.New(rand.NewPCG(s.seed, 3)),
		every: int64(s.calls / (len(c.plan.blows) + 4)), over: make(chan struct{}), struck: map[string]int{}, size: s.large,
	}
}

func (f *fury) serve() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for i, b := range f.plan.blows {
		for f.crew.answered.Load() < f.every*int64(i+1) {
			select {
			case <-f.over:
				return
			case <-tick.C:
			}
		}
		time.Sleep(time.Duration(f.random.Int64N(int64(2 * time.Millisecond))))
		err := b.strike(f)
		f.mu.Lock()
		f.struck[b.name]++
		f.err = err
		f.mu.Unlock()
		if err != nil {
			f.crew.stop()
			return
		}
	}
}

// count is how many blows there were so far.
func (f *fury) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, times := range f.struck {
		n += times
	}
	return n
}

func (f *fury) harm() { f.crew.log.Add(history.Event{Kind: history.Harm}) }

func (f *fury) restart() error {
	err := f.server.Restart()
	f.crew.log.Add(history.Event{Kind: history.Kill})
	return err
}

func (f *fury) expire() error { f.server.ExpireSessions(); f.harm(); return nil }

func (f *fury) drop() error { f.server.DropConnections(); f.harm(); return nil }

// refuse resets the next connection, and sees to it that there is one.
func (f *fury) refuse() error {
	f.server.Arm(faultyhttp.RSTOnAccept, 1)
	return f.drop()
}

// bite breaks off in the middle of the next request, whosever it is. Most are
// so small that all of it has been sent by then.
func (f *fury) bite() error { f.server.Arm(faultyhttp.RSTInBody, 1); f.harm(); return nil }

// biteLarge waits until all is quiet, because the fault takes the next request,
// and lets a call come whose request is too large to be sent before it breaks.
func (f *fury) biteLarge() error {
	f.crew.calm.Lock()
	defer f.crew.calm.Unlock()
	f.server.Arm(faultyhttp.RSTInBody, 1)
	f.crew.ask(f.crew.callers, largeErrand(f.large, f.size))
	f.large++
	return nil
}
