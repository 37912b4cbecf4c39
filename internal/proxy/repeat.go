package proxy

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

const (
	provenRepeats = 2 // of a call that was provably not read
	readRepeats   = 2 // of a read that was: three attempts in all
)

// mayRepeat is the only licence to send a call again after it was lost, by
// the death of its server or alone. How it was delivered is measured, never
// assumed; laterWrite tells whether a call that may write was sent after it. If
// the answer is no, code says why.
func mayRepeat(c *call, loss upstream.Loss, laterWrite bool) (ok bool, code fault.Code) {
	if upstream.Seeded("replay-everything") {
		return true, ""
	}
	if c.class == Start {
		return true, "" // how often is up to the restart rules
	}
	if loss.Delivery == fault.Unsent {
		// It did not happen, whatever it is.
		return c.proven < provenRepeats, fault.ReplayExhausted
	}
	if loss.Session && c.deaths <= 1 {
		// A transport that does not know the session did not run the call. It
		// is believed once, and only if this is the call's first loss.
		return true, ""
	}
	switch c.class {
	case Reads, ReadOnly:
		if loss.Session {
			return c.deaths <= readRepeats, fault.HTTPRefused
		}
		return c.deaths <= readRepeats, fault.ReplayExhausted
	case Idempotent:
		// Idempotent is not commutative: set(x,1) after set(x,2) reverts it.
		return !laterWrite && c.deaths <= readRepeats, fault.OutcomeUnknown
	default:
		return false, fault.OutcomeUnknown
	}
}

// lost counts the loss of a call and decides, for deaths of the server and for
// losses over HTTP alike, whether it may be sent again. If not, code says why.
func (s *Session) lost(c *call, loss upstream.Loss) (again bool, code fault.Code) {
	if loss.Delivery != fault.Unsent {
		c.deaths++
	}
	again, code = mayRepeat(c, loss, s.laterWrite(c))
	return again && !loss.Final, code
}

// poisoned applies the poison rule to a call that the server died with, and
// reports whether it was there at the death before as well. A request that is
// lost alone, over HTTP, is not judged by it: that is the network more often
// than the call.
func (s *Session) poisoned(c *call, loss upstream.Loss, now time.Time) bool {
	if c.msg.Method != "tools/call" || s.Quarantine <= 0 || !loss.MayHaveKilled() || !s.quarantine.last[c.sign] {
		return false
	}
	s.quarantine.bar(c.sign, now, now.Add(s.Quarantine))
	return true
}

// quarantine is the poison rule: a call that was in flight at two deaths in a
// row is not sent again for a while. A success in between clears it.
type quarantine struct {
	last   map[uint64]bool      // signs in flight at the last death
	barred map[uint64]time.Time // until when
}

// bar keeps a call away until then, and forgets those whose time is over.
func (q *quarantine) bar(sign uint64, now, until time.Time) {
	for other, end := range q.barred {
		if end.Before(now) {
			delete(q.barred, other)
		}
	}
	q.barred[sign] = until
}

// Down judges, one by one and in their order, the calls that were in flight
// when the connection ended.
func (s *Session) Down(conn *upstream.Conn) {
	now := time.Now()
	var verdicts []func()
	s.mu.Lock()
	crashed := s.conn == conn && !s.closing && conn.Evidence().Refused == nil
	var lost []*call
	for _, c := range s.flight {
		if c.conn == conn && !conn.Lingers(c.end) {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b *call) int { return int(a.seq) - int(b.seq) })
	withdrawn := s.withdrawQuestions(conn)
	inFlight := map[uint64]bool{}
	for _, c := range lost {
		delete(s.flight, c.n)
		if upstream.Seeded("no-fence") {
			s.haunt(c)
		}
		verdicts = append(verdicts, s.judge(c, now, inFlight))
	}
	for _, c := range s.streams {
		if c.conn == conn {
			c.conn = nil // re-opened by restore
		}
	}
	if crashed || len(inFlight) > 0 { // a start that failed says nothing about any call
		s.quarantine.last = inFlight
	}
	clear(s.late)
	if s.rootsEnd > 0 && conn.Delivery(s.rootsEnd) == fault.Unsent {
		s.memory.rootsChanged = true
	}
	s.rootsEnd = 0
	if s.conn == conn {
		s.conn = nil
	}
	if crashed {
		s.admission.crash(now)
	}
	// What was held for this connection waits for the next one, behind the
	// repetitions and before what arrives later.
	s.waiting = append(s.held, s.waiting...)
	s.held = nil
	slices.SortFunc(s.repeats, func(a, b *call) int { return int(a.seq) - int(b.seq) })
	s.mu.Unlock()

	for _, t := range withdrawn {
		s.out.send(t)
	}
	for _, verdict := range verdicts {
		verdict()
	}
}

// judge decides about one call and returns what is to be said, without locks.
func (s *Session) judge(c *call, now time.Time, inFlight map[uint64]bool) func() {
	nothing := func() {}
	if c.own != nil {
		c.over = true
		return func() { close(c.own) }
	}
	if c.over {
		return nothing
	}
	conn := c.conn
	delivered := conn.Delivery(c.end)
	loss := upstream.Loss{Delivery: delivered, Session: delivered == fault.Refused}
	if loss.MayHaveKilled() && c.msg.Method == "tools/call" {
		inFlight[c.sign] = true
	}
	ok, code := s.lost(c, loss)
	if s.poisoned(c, loss, now) && ok {
		ok, code = false, fault.CallQuarantined
	}
	if ok && delivered == fault.Unknown && c.class != Start && !s.budget.take(now) {
		ok, code = false, fault.RetryBudgetSpent
	}
	if s.discoverRefused(c) {
		return func() { s.refuseDiscover(c) }
	}
	if s.closing && ok {
		ok, code = false, fault.Stopping
	}
	if !ok {
		s.retire(c)
		evidence := conn.Evidence()
		f := &fault.Fault{Code: code, Delivery: overall(c, delivered), Since: now}
		if code != fault.OutcomeUnknown {
			f.Detail, f.Evidence = evidence.Sentence(), evidence.Shown()
		}
		if loss.Session {
			f.Detail += "; " + upstream.StickySessions
		}
		return func() { s.fail(c, f) }
	}
	if c.unread = delivered == fault.Unsent; c.unread {
		// A server that took no connection was not even asked: how long that is
		// worth waiting for is up to the caller's patience.
		if evidence := conn.Evidence(); !evidence.Remote || evidence.Gone {
			c.proven++
		}
	} else if delivered == fault.Unknown {
		c.suspect = c.msg.Method == "tools/call"
	}
	if c.refused = nil; loss.Session {
		c.refused = conn
	}
	c.conn, c.slot, c.waited, c.lost = nil, false, true, now
	s.repeats = append(s.repeats, c)
	return nothing
}

// budget is a token bucket: repetitions must not become a storm of their own.
type budget struct {
	size   float64 // 0: no limit
	tokens float64
	at     time.Time
}

const (
	defaultBudget = 256 // more than the calls anyone keeps in flight
	budgetRefill  = 8   // a second
	budgetEarned  = 0.2 // with every call that is answered
)

// earn gives back a part of a repetition for a call that was answered: in front
// of a server that works, repetitions are few beside the calls.
func (b *budget) earn() {
	if !b.at.IsZero() {
		b.tokens = min(b.size, b.tokens+budgetEarned)
	}
}

func (b *budget) take(now time.Time) bool {
	if b.size <= 0 {
		return true
	}
	if b.at.IsZero() {
		b.tokens = b.size
	} else {
		b.tokens = min(b.size, b.tokens+now.Sub(b.at).Seconds()*budgetRefill)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
