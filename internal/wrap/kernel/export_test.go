package kernel

import (
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// What the stories, which use whole sessions, see and do inside of a kernel.

const (
	MaxReadRepeats = maxReadRepeats
	MaxHeldBytes   = maxHeldBytes
	MaxLooks       = maxLooks
	FloodSpan      = floodSpan
	FloodAfter     = floodAfter
	MissesToKill   = missesToKill
	CheckRoom      = checkRoom
)

// Inside is what a kernel has at the moment.
type Inside struct {
	Conn                                                *upstream.Conn
	Calls, Queued, Sent, Held, Flight, Opened           int
	QueuedBytes, ListWaiters, Looks, Misses             int
	Listed, Stale, Remembered, Asking                   bool
	Dozing, Left, Restarting, Looking, Settled, Answers bool
	Delayed                                             time.Time
	Idle                                                time.Duration // until the last look
}

func (s *Session) Inside() Inside {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Inside{
		Conn: s.link.conn, Calls: s.table.calls.len(), Queued: len(s.table.queue), Flight: len(s.table.flight), Opened: len(s.table.opened), Held: s.table.keeps.all,
		QueuedBytes: s.table.queuedBytes, ListWaiters: s.listing.waiting, Looks: s.watcher.elsewhere.looks, Misses: s.watcher.pulse.misses,
		Listed: s.catalog.listed, Stale: s.catalog.stale, Remembered: s.catalog.remembered, Asking: s.listing.asking,
		Dozing: s.watcher.dozing, Left: s.leaving.emptied != nil, Restarting: s.restarting.restart != nil, Looking: s.watcher.elsewhere.looking, Settled: s.watcher.elsewhere.settled, Answers: s.watcher.pulse.answers,
	}
	for c := range s.table.calls.all() {
		if c.state == sent {
			i.Sent++
		}
	}
	if s.likeness.delayed != nil {
		i.Delayed = s.likeness.delayed.since
	}
	if !s.watcher.pulse.idleSince.IsZero() {
		i.Idle = s.watcher.pulse.looked.Sub(s.watcher.pulse.idleSince)
	}
	return i
}

// Retime changes the times of a session under way.
func (s *Session) Retime(set func(*Timing, *Limits)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set(&s.config.Timing, &s.config.Limits)
}

func (s *Session) Tick(now time.Time) { s.watcher.tick(now) }

// EachInFlight calls do for each call in flight, under the lock.
func (s *Session) EachInFlight(do func(*Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.table.flight {
		do(c)
	}
}

// Age lets a call have arrived earlier.
func (c *Call) Age(by time.Duration) { c.arrived = c.arrived.Add(-by) }

// Bar quarantines a call. It is called by EachInFlight.
func (s *Session) Bar(c *Call, until time.Time) { s.quarantine.barred[c.Sign()] = until }

// IDAtServer returns the id of the client's call at the server.
func (s *Session) IDAtServer(id string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.calls.of([]byte(id)).n
}

// FailOwn ends a request of the kernel's own because the server is down, and reports whether it got a result.
func (s *Session) FailOwn(method string) (answered bool) {
	c := s.restorer.ownCall(method, nil)
	s.update(func() { s.likeness.unavailable(c, nil) })
	_, answered = <-c.own
	return answered
}

// NeverList lets the kernel believe that the tools cannot be listed.
func (s *Session) NeverList() { s.listing.asking, s.listing.failure = true, errUnlisted }

func (s *Session) RestartInto(result chan error) { s.update(func() { s.restarting.restart = result }) }

// Silence keeps everybody else from speaking to the client while do runs.
func (s *Session) Silence(do func()) {
	s.out.Lock()
	defer s.out.Unlock()
	do()
}

func (s *Session) IsSpeaking() bool { return s.out.writes.Load()%2 == 1 }

var SubscriptionOf = subscriptionOf

// CallOf returns a call of a tool.
func CallOf(tool string) *Call {
	return &Call{tool: tool, number: 1, msg: wire.Message{Method: "tools/call"}}
}

// AskStages asks the stages about a call from its arrival to its end. It reports whether one of them touches it.
func (s *Session) AskStages(c *Call, m *wire.Message) (touched bool) {
	for _, stage := range s.config.Stages {
		r := stage.Arrive(c)
		touched = touched || r.hold != nil || r.refusal != nil || len(r.edits) > 0
	}
	c.part.response = readResponse(m)
	r := s.panel.responding(c, &c.part.response)
	s.end(c, c.part.response.outcome(), c.arrived)
	edits := s.panel.additions(c, &c.part.response)
	s.server.answered(c)
	return touched || r.hold != nil || r.again || r.place != nil || edits != nil
}

func (s *Session) Unreachable(t upstream.Trouble) { s.server.Unreachable(t) }

func (s *Session) Up(c *upstream.Conn) { s.server.Up(c) }

// Unchecked lets a session change without a check of its tables.
func (s *Session) Unchecked() { s.check = nil }

// PassIdle lets the time pass after which a server that nothing uses is stopped, and reports whether it sleeps.
func (s *Session) PassIdle() (asleep bool) { return s.Pass(s.sleep.idle) }

// Pass lets some time pass in which nothing uses the server, and reports whether it sleeps.
func (s *Session) Pass(d time.Duration) (asleep bool) {
	s.update(func() {
		if s.sleep.timer != nil {
			s.sleep.check(time.Now().Add(d))
		}
		asleep = s.sleep.asleep
	})
	return asleep
}

// Used returns when something last used the server.
func (s *Session) Used() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sleep.used
}
