package proxy

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Over HTTP one request can be lost while the connection goes on: judged like
// those that were in flight at a death, but alone.

// Lost takes the news of such a request.
func (s *Session) Lost(conn *upstream.Conn, id []byte, loss upstream.Loss) {
	now := time.Now()
	s.mu.Lock()
	c := s.awaiting(conn, id)
	if c == nil {
		s.mu.Unlock()
		return // cancelled or timed out meanwhile
	}
	switch {
	case c.own != nil:
		c.loss = &loss
		s.retire(c)
		s.later(func() { close(c.own) })
	case c.class == Stream && !loss.Final && s.conn == conn:
		s.reopen(c, conn, now)
	default:
		s.judgeLoss(c, loss, now)
	}
	s.release()
	s.unlock()
	if loss.Delivery == fault.Unknown {
		s.up.Record(conn.Generation, health.Broken, 0, now)
	}
	s.Flush()
}

// judgeLoss repeats the call if that is licensed, or answers it.
func (s *Session) judgeLoss(c *call, loss upstream.Loss, now time.Time) {
	ok, why := s.lost(c, loss)
	if c.class == Start {
		ok = !loss.Final && (c.deaths+c.proven <= readRepeats || warmingUp[loss.Status]) // no restart rules see to it here
	}
	if ok && loss.Session && c.class == Unsafe && s.conn != nil && s.conn != c.conn && s.conn.SameSession(c.conn) {
		ok = false // the new session is the one that was refused
	}
	code := toldOf(c, loss)
	if loss.Session && why != "" {
		code = why
	}
	delay := max(loss.After, jitter(retryBase, c.deaths+c.proven))
	inTime := now.Add(delay).Before(c.arrived.Add(max(s.timeout(c), s.Patience)))
	if c.class == Start {
		inTime = now.Add(delay).Before(c.arrived.Add(s.Patience))
	}
	if ok = ok && inTime; ok && loss.Delivery == fault.Unknown && !s.budget.take(now) {
		ok, code = false, fault.RetryBudgetSpent
	}
	if ok {
		if c.unread = loss.Delivery == fault.Unsent; c.unread {
			c.proven++
		}
		delete(s.flight, c.n)
		s.vacate(c)
		conn := c.conn
		if c.refused = nil; loss.Session {
			c.refused = conn
		}
		c.conn, c.waited, c.again = nil, true, true
		if loss.Session && s.conn == conn {
			s.repeats = append(s.repeats, c) // it waits for the next session
			return
		}
		s.again(c, delay, now)
		return
	}
	switch first := !s.memory.known(); {
	case first && c.msg.Method == "server/discover":
		// A legacy server may turn it away in any form; its client then
		// initialises.
		s.retire(c)
		s.later(func() { s.refuseDiscover(c) })
		return
	case first && (c.class == Start || (loss.Delivery == fault.Unsent || loss.Delivery == fault.Refused) && (c.class == Reads || c.class == ReadOnly)):
		s.turnedAway(c, loss)
		return
	}
	s.retire(c)
	f := &fault.Fault{Code: code, Delivery: overall(c, loss.Delivery), Detail: loss.Detail}
	if loss.After > 0 {
		f.NextTry = now.Add(loss.After)
	}
	s.later(func() { s.fail(c, f) })
}

// turnedAway: the server refuses what it is asked first. That is no matter of
// this call; the doctor may know where else to ask, and the call waits for what
// comes of it.
func (s *Session) turnedAway(c *call, loss upstream.Loss) {
	if loss.Code == fault.OutcomeUnknown {
		loss.Code = fault.ServerUnreachable // a handshake has no outcome
	}
	conn := c.conn
	delete(s.flight, c.n)
	s.vacate(c)
	c.conn, c.waited = nil, true
	s.waiting = append(s.waiting, c)
	s.later(func() { conn.Refuse(loss) })
}

// warmingUp are what gateways say while the server behind them starts.
var warmingUp = map[int]bool{http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true}

// toldOf is what a caller is told whose call is not sent again.
func toldOf(c *call, loss upstream.Loss) fault.Code {
	writes := c.class == Unsafe || c.class == Idempotent
	said := loss.Code == fault.AnswerMissing || loss.Status == http.StatusServiceUnavailable
	switch {
	case loss.Final, loss.Delivery != fault.Unknown:
		return loss.Code
	case writes && !said:
		return fault.OutcomeUnknown
	case loss.Code == fault.OutcomeUnknown:
		return fault.ReplayExhausted // it only reads: nothing is unknown, it was tried in vain
	}
	return loss.Code
}

// again holds the call until its delay is over.
func (s *Session) again(c *call, delay time.Duration, now time.Time) {
	c.retryAt = now.Add(delay)
	if s.conn == nil {
		s.repeats = append(s.repeats, c)
		return
	}
	s.held = append(s.held, c)
	time.AfterFunc(delay, func() {
		s.mu.Lock()
		s.release()
		conn := s.conn
		s.unlock()
		if conn != nil {
			conn.Flush()
		}
	})
}

const (
	retryBase = 50 * time.Millisecond // x2 with every attempt, full jitter
	retryMost = 20 * time.Second
)

// jitter is the wait before another try: anything up to base, doubled each time.
func jitter(base time.Duration, attempt int) time.Duration {
	return time.Duration(rand.Float64() * float64(min(base<<min(attempt, 10), retryMost)))
}

// reopen opens a stream again that was cut. Whoever listens on it gets a hint
// once it stands: what happened in the gap nobody can know.
func (s *Session) reopen(c *call, conn *upstream.Conn, now time.Time) {
	s.Events.Emit(event.Event{Kind: event.Replayed, Server: s.Name, Generation: conn.Generation, Method: c.msg.Method, Detail: "its stream was cut"})
	c.swallow, c.gap = c.acked, c.acked
	s.vacate(c)
	c.conn, c.waited = nil, true
	if now.Sub(c.sent) > reopenCalm {
		c.reopened = 0
	}
	c.reopened++
	delay := time.Duration(0)
	if c.reopened > 1 {
		delay = jitter(reopenBase, c.reopened)
	}
	time.AfterFunc(delay, func() {
		s.mu.Lock()
		conn := s.conn
		if conn != nil && c.conn == nil && !c.over { // otherwise Up sees to it
			s.transmit(c, conn)
		}
		s.unlock()
		if conn != nil {
			conn.Flush()
		}
	})
}

const (
	reopenBase = 200 * time.Millisecond
	reopenCalm = 5 * time.Second // a stream that stood this long was not refused
)

// hintAfterGap tells the listener of a stream that stands again what may have
// changed. The caller holds both locks.
func (s *Session) hintAfterGap(stream []byte) {
	c := s.streams[string(stream)]
	if c == nil || !c.gap {
		return
	}
	c.gap = false
	for _, line := range c.hints(func(string) bool { return true }, true) {
		s.out.buf = append(append(s.out.buf, line...), '\n')
		s.out.end(Told{About: c.id})
	}
}

// Gap: a legacy server's own stream was cut, so changes may have been missed.
func (s *Session) Gap(*upstream.Conn) {
	s.mu.Lock()
	var seen []string
	for method := range s.catalog.lists {
		seen = append(seen, method)
	}
	lines := append(s.changed(seen, s.memory), s.updated(s.memory, s.memory.order)...)
	s.mu.Unlock()
	for _, line := range lines {
		s.out.send(Told{Line: line})
	}
}
