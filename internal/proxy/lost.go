package proxy

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Down handles the end of a connection: the calls that were in flight are lost, one by one and in
// their order.
func (s *Session) Down(conn *upstream.Conn) {
	now := time.Now()
	s.update(func() {
		crashed := s.conn == conn && !s.closing && conn.Evidence().Refused == nil
		s.withdrawQuestions(conn)
		if s.conn == conn {
			s.disconnect()
			s.away = true
		}
		if crashed {
			s.admission.crash(now)
		}
		inFlight := map[uint64]bool{}
		for _, c := range s.lostWith(conn) {
			if upstream.Seeded("no-fence") {
				s.rememberGhost(c)
			}
			loss := upstream.Loss{Delivery: conn.Delivery(c.end)}
			if mayHaveKilled(c.msg.Method, connectionLost, loss) {
				inFlight[c.sign] = true
			}
			c.lost = now
			s.lose(c, connectionLost, loss, now)
		}
		for _, c := range s.opened {
			if c.conn == conn {
				s.move(c, cut)
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
	})
}

// lostWith returns the calls that a connection ended with, in their order.
func (s *Session) lostWith(conn *upstream.Conn) (lost []*call) {
	for _, c := range s.flight {
		if c.conn == conn && !conn.Lingers(c.end) {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	return lost
}

// Lost handles the loss of one HTTP exchange while the connection goes on.
func (s *Session) Lost(conn *upstream.Conn, id []byte, loss upstream.Loss) {
	now := time.Now()
	var c *call
	s.update(func() {
		if c = s.awaiting(conn, id); c == nil {
			return // cancelled or timed out meanwhile
		}
		if c.class == Stream && (!loss.Final || loss.OfLogin() && c.stream.acked) {
			s.reopen(c, conn, now)
			return
		}
		s.lose(c, exchangeLost, loss, now)
	})
	if c != nil && loss.Delivery == fault.Unknown {
		s.up.Record(conn.Generation, health.Broken, 0, now)
	}
}

// lose carries out what decide says about a lost call.
func (s *Session) lose(c *call, kind lossKind, loss upstream.Loss, now time.Time) {
	s.noteNeeded(loss)
	if c.own != nil {
		if kind == exchangeLost {
			c.loss = &loss
		}
		s.fail(c, nil)
		return
	}
	c.loss = &loss
	if c.failed.IsZero() {
		c.failed = now
	}
	if c.unlisted && c.shape == 0 {
		c.shape = s.catalog.tools[c.tool].shape // as this server listed it meanwhile
	}
	if loss.Delivery != fault.Unsent {
		c.deaths++
	}
	delay := max(loss.After, jitter(retryBase, c.deaths+c.proven))
	v := decide(s.factsOf(c), kind, loss, lossPolicy{
		quarantine: s.Quarantine > 0,
		budget:     s.budget.has(now),
		inTime:     kind == connectionLost || now.Add(delay).Before(s.retryUntil(c)),
		settled:    s.memory.known(),
		closing:    s.closing || kind == connectionLost && c.conn.Evidence().ByUs == upstream.ClientLeft,
		login:      s.mayAwaitLogin(c, loss.Login),
	})
	if v.bar {
		s.quarantine.bar(c.sign, now, now.Add(s.Quarantine))
	}
	switch v.action {
	case repeatCall:
		if v.spends {
			s.budget.take(now)
		}
		if kind == exchangeLost && s.onHints(c) && c.conn == s.conn && !loss.Session {
			s.repeatOnceListed(c)
			return
		}
		s.repeat(c, kind, now.Add(delay))
	case refuseDiscover:
		s.refuseDiscover(c)
	case awaitDoctor:
		if loss.Code == fault.OutcomeUnknown {
			loss.Code = fault.ServerUnreachable // a handshake has no outcome
		}
		conn := c.conn
		if conn == s.conn {
			c.retryAt = never // it waits for the next connection
		}
		s.move(c, queued)
		s.later(func() { conn.Refuse(loss) })
	case awaitLogin:
		if !s.awaitLogin(c, loss.Login) {
			s.fail(c, s.lossFault(c, kind, loss.Code, now))
			return
		}
		s.move(c, queued)
	case answerFault:
		s.askForLaterCalls(c, loss.Login)
		s.fail(c, s.lossFault(c, kind, v.code, now))
	}
}

// factsOf collects what decide needs to know of a call that was just lost.
func (s *Session) factsOf(c *call) lostCall {
	return lostCall{
		class: s.classNow(c), method: c.msg.Method, deaths: c.deaths, proven: c.proven,
		laterWrite: s.laterWrite(c),
		lastDeath:  s.quarantine.last[c.sign],
	}
}

// repeat queues a lost call to be sent again: on the next connection, or on this one after retryAt.
func (s *Session) repeat(c *call, kind lossKind, retryAt time.Time) {
	if c.loss.Delivery == fault.Unsent && (kind == exchangeLost || reached(c.conn.Evidence())) {
		c.proven++
	}
	if kind == connectionLost && c.loss.Delivery == fault.Unknown {
		c.suspect = c.msg.Method == "tools/call"
	}
	s.move(c, queued)
	switch {
	case s.conn == nil:
	case c.loss.Session && s.conn == c.conn:
		c.retryAt = never // it waits for the next session
	default:
		c.retryAt = retryAt
		time.AfterFunc(time.Until(retryAt), func() { s.update(s.release) })
	}
}

// onHints reports whether only what its tool declares licenses to send a call again that may have run.
func (s *Session) onHints(c *call) bool {
	return c.msg.Method == "tools/call" && c.loss.Delivery == fault.Unknown && s.classNow(c) != Unsafe && s.Tools[c.tool].class(Unsafe) == Unsafe
}

// maxListAttempts bounds how often a server is asked whether it still lists the tool of a lost call.
const maxListAttempts = 3

// repeatOnceListed sends a lost call again on its connection if the server still lists its tool as one
// that may be repeated: what was lost may have been lost because another version was deployed.
func (s *Session) repeatOnceListed(c *call) {
	conn, m := c.conn, s.memory
	s.move(c, queued)
	c.retryAt = never
	s.background.Go(func() {
		listed := false
		for attempt := 1; attempt <= maxListAttempts && !listed; attempt++ {
			if attempt > 1 {
				time.Sleep(jitter(retryBase, attempt+1))
			}
			ctx, cancel := context.WithTimeout(context.Background(), listSoon)
			listed = (&restoring{s: s, ctx: ctx, conn: conn}).tools(m) == nil
			cancel()
		}
		s.update(func() {
			switch {
			case c.state != queued || s.conn != conn: // answered meanwhile, or the next connection has it
			case !listed || s.classNow(c) == Unsafe:
				c.class = Unsafe
				s.fail(c, s.lossFault(c, exchangeLost, fault.OutcomeUnknown, time.Now()))
			case s.toolChanged(c):
				s.fail(c, &fault.Fault{Code: fault.ToolChanged, Delivery: fault.Unknown})
			default:
				c.retryAt = time.Time{}
				s.release()
			}
		})
	})
}

// reached reports whether the server ever accepted the connection. If not, the attempt does not
// count: how long to wait for such a server is up to the caller's patience.
func reached(e upstream.Evidence) bool { return !e.Remote || e.Gone }

// lossFault returns the answer to a call that is not sent again.
func (s *Session) lossFault(c *call, kind lossKind, code fault.Code, now time.Time) *fault.Fault {
	f := &fault.Fault{Code: code, Delivery: overall(c, c.loss.Delivery), Detail: c.loss.Detail, Cause: c.loss.Cause()}
	if c.loss.After > 0 {
		f.NextTry = now.Add(c.loss.After)
	}
	if code == fault.CallTimeout {
		f.Waited = now.Sub(c.arrived)
	}
	if c.loss.Session && c.deaths > 1 {
		f.Detail += "; " + upstream.StickySessions
	}
	if kind == exchangeLost {
		return f
	}
	f.Since = now
	if code != fault.OutcomeUnknown {
		evidence := c.conn.Evidence()
		f.Detail, f.Evidence = evidence.Sentence(), evidence.Shown()
	}
	return f
}

// retryUntil returns until when a lost call may be sent again on the same connection. The time that it
// was with the server before it was first lost does not count.
func (s *Session) retryUntil(c *call) time.Time {
	if c.class == Start {
		return c.arrived.Add(s.Patience)
	}
	return c.failed.Add(max(s.timeout(c), s.Patience))
}

const (
	retryBase = 50 * time.Millisecond // doubled with every attempt
	maxRetry  = 20 * time.Second
)

// jitter returns the wait before the next attempt: anything up to base, doubled with each attempt.
func jitter(base time.Duration, attempt int) time.Duration {
	return time.Duration(rand.Float64() * float64(min(base<<min(attempt, 10), maxRetry)))
}

// reopen opens a stream again that was cut. Its listener gets a hint once it is open: what happened
// in the gap is unknown.
func (s *Session) reopen(c *call, conn *upstream.Conn, now time.Time) {
	s.emit(c, event.Event{Kind: event.Replayed, Generation: conn.Generation, Detail: "its stream was interrupted"})
	c.stream.swallow, c.stream.gap = c.stream.acked, c.stream.acked
	s.move(c, cut)
	if now.Sub(c.sent) > reopenCalm {
		c.stream.reopened = 0
	}
	c.stream.reopened++
	delay := time.Duration(0)
	if c.stream.reopened > 1 {
		delay = jitter(reopenBase, c.stream.reopened)
	}
	time.AfterFunc(delay, func() {
		s.update(func() {
			if conn := s.conn; conn != nil && c.state == cut { // without a connection, Up opens it
				s.transmit(c, conn)
				s.later(conn.Flush)
			}
		})
	})
}

const (
	reopenBase = 200 * time.Millisecond
	reopenCalm = 5 * time.Second // a stream that was open this long was not rejected
)

// hintAfterGap tells the listener of a stream that is open again what may have changed. The caller
// holds both locks.
func (s *Session) hintAfterGap(id []byte) {
	c := s.calls[string(id)]
	if c == nil || !c.stream.gap {
		return
	}
	c.stream.gap = false
	for _, line := range c.hints(func(string) bool { return true }, true) {
		s.out.put(Told{Line: line, About: c.id})
	}
}

// Gap handles a gap in a legacy server's own stream: changes may have been missed.
func (s *Session) Gap(*upstream.Conn) {
	s.update(func() {
		s.catalog.change(s.sends) // that may have been announced in the gap
		var seen []string
		for method := range s.catalog.lists {
			seen = append(seen, method)
		}
		for _, line := range append(s.changed(seen, s.memory), s.updated(s.memory)...) {
			s.later(func() { s.out.send(Told{Line: line}) })
		}
	})
}
