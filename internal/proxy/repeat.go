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

// mayRepeat is the only licence to send a call again after the server that
// had it died. delivered is measured, never assumed; laterWrite tells whether
// a call that may write was sent after it. If the answer is no, code says why.
func mayRepeat(c *call, delivered fault.Delivery, laterWrite bool) (ok bool, code fault.Code) {
	if upstream.Seeded("replay-everything") {
		return true, ""
	}
	if c.class == Start {
		return true, "" // how often is up to the restart rules
	}
	if delivered == fault.Unsent {
		// It did not happen, whatever it is.
		return c.proven < provenRepeats, fault.ReplayExhausted
	}
	switch c.class {
	case Reads, ReadOnly:
		return c.deaths <= readRepeats, fault.ReplayExhausted
	case Idempotent:
		// Idempotent is not commutative: set(x,1) after set(x,2) reverts it.
		return !laterWrite && c.deaths <= readRepeats, fault.OutcomeUnknown
	default:
		return false, fault.OutcomeUnknown
	}
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
	if delivered == fault.Unknown {
		c.deaths++
		if c.msg.Method == "tools/call" {
			inFlight[c.sign] = true
		}
	}
	ok, code := mayRepeat(c, delivered, s.lastWrite > c.order)
	if ok && delivered == fault.Unknown && c.class != Start {
		switch {
		case s.quarantine.last[c.sign] && s.Quarantine > 0:
			ok, code = false, fault.CallQuarantined
		case !s.budget.take(now):
			ok, code = false, fault.RetryBudgetSpent
		}
	}
	if s.quarantine.last[c.sign] && delivered == fault.Unknown && s.Quarantine > 0 && c.msg.Method == "tools/call" {
		s.quarantine.bar(c.sign, now, now.Add(s.Quarantine))
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
		f := &fault.Fault{Code: code, Delivery: delivered, Since: now}
		if code != fault.OutcomeUnknown {
			f.Detail, f.Evidence = evidence.Sentence(), evidence.Shown()
		}
		return func() { s.fail(c, f) }
	}
	if c.unread = delivered == fault.Unsent; c.unread {
		// A server that took no connection was not even asked: how long that is
		// worth waiting for is up to the caller's patience.
		if evidence := conn.Evidence(); !evidence.Remote || evidence.Gone {
			c.proven++
		}
	} else {
		c.suspect = c.msg.Method == "tools/call"
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
)

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
