package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// serverFault is a fault of the whole server, not of one call.
type serverFault struct {
	name   string
	era    string // empty for all eras
	oneIn  int    // share of all faults
	inject func(*faultInjector) error
	wide   bool // affects everything in flight
}

var serverFaults = []serverFault{
	{name: "restart", oneIn: 25, inject: (*faultInjector).restart, wide: true},
	{name: "expire-sessions", era: "legacy", oneIn: 50, inject: (*faultInjector).expire, wide: true},
	{name: "drop-connections", oneIn: 50, inject: (*faultInjector).drop, wide: true},
	{name: string(faultyhttp.RSTOnAccept), oneIn: 50, inject: (*faultInjector).resetOnAccept, wide: true},
	{name: string(faultyhttp.RSTInBody), oneIn: 50, inject: (*faultInjector).resetInBody},
	{name: string(rstInLargeBody), oneIn: 100, inject: (*faultInjector).resetInLargeBody},
}

// faultInjector injects faults into the server, evenly spread over the responses.
type faultInjector struct {
	pool   *callerPool
	server *faultyhttp.Server
	plan   *webPlan
	random *rand.Rand
	every  int64         // responses from one fault to the next
	over   chan struct{} // closed when the calls have ended

	mu       sync.Mutex
	injected map[string]int
	large    int // calls made by the injector
	size     int // bytes of each
	err      error
}

func (s *webStorm) newInjector(c *callerPool, server *faultyhttp.Server) *faultInjector {
	return &faultInjector{
		pool: c, server: server, plan: c.plan, random: rand.New(rand.NewPCG(s.seed, 3)),
		every: int64(s.calls / (len(c.plan.serverFaults) + 4)), over: make(chan struct{}), injected: map[string]int{}, size: s.large,
	}
}

func (f *faultInjector) serve() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for i, b := range f.plan.serverFaults {
		for f.pool.answered.Load() < f.every*int64(i+1) {
			select {
			case <-f.over:
				return
			case <-tick.C:
			}
		}
		time.Sleep(time.Duration(f.random.Int64N(int64(2 * time.Millisecond))))
		err := b.inject(f)
		f.mu.Lock()
		f.injected[b.name]++
		f.err = err
		f.mu.Unlock()
		if err != nil {
			f.pool.stop()
			return
		}
	}
}

// count returns the number of faults injected so far.
func (f *faultInjector) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, times := range f.injected {
		n += times
	}
	return n
}

// idle is how long a session is not used before its server forgets it.
const idle = 2 * time.Millisecond

// replace replaces a server that no call is using.
func replace(server *faultyhttp.Server, f faultyhttp.Fault) error {
	if f == redeployed {
		return server.Restart()
	}
	time.Sleep(2 * idle)
	server.ExpireSessions()
	return nil
}

func (f *faultInjector) logFault() { f.pool.log.Add(history.Event{Kind: history.Injected}) }

func (f *faultInjector) restart() error {
	err := f.server.Restart()
	f.pool.log.Add(history.Event{Kind: history.Kill})
	return err
}

func (f *faultInjector) expire() error { f.server.ExpireSessions(); f.logFault(); return nil }

func (f *faultInjector) drop() error { f.server.DropConnections(); f.logFault(); return nil }

// resetOnAccept resets the next connection and makes sure that there is one.
func (f *faultInjector) resetOnAccept() error {
	f.server.Arm(faultyhttp.RSTOnAccept, 1)
	return f.drop()
}

// resetInBody resets the connection in the middle of the next request. Most requests are so small
// that they have been sent completely by then.
func (f *faultInjector) resetInBody() error {
	f.server.Arm(faultyhttp.RSTInBody, 1)
	f.logFault()
	return nil
}

// resetInLargeBody waits for all other calls to end, because the fault affects the next request,
// and makes a call whose request is too large to be sent before the reset.
func (f *faultInjector) resetInLargeBody() error {
	f.pool.alone.Lock()
	defer f.pool.alone.Unlock()
	f.server.Arm(faultyhttp.RSTInBody, 1)
	f.pool.ask(f.pool.callers, largePlannedCall(f.large, f.size))
	f.large++
	return nil
}
