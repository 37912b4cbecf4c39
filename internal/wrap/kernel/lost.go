package kernel

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Down handles the end of a connection: the calls that were in flight are lost, one by one and in
// their order.
func (v *server) Down(conn *upstream.Conn) {
	now := time.Now()
	v.s.update(func() {
		crashed := v.s.link.conn == conn && !v.s.leaving.closing && conn.Evidence().Refused == nil
		v.s.dialogue.withdrawQuestions(conn)
		if v.s.link.conn == conn {
			v.disconnect()
			v.s.link.away = true
		}
		if crashed {
			v.s.order.admission.crash(now)
		}
		inFlight := map[uint64]bool{}
		for _, c := range v.lostWith(conn) {
			if upstream.Seeded("no-fence") {
				v.s.rememberGhost(c)
			}
			loss := upstream.Loss{Delivery: conn.Delivery(c.end)}
			if mayHaveKilled(c.msg.Method, connectionLost, loss) {
				inFlight[c.Sign()] = true
			}
			c.past.lost = now
			v.lose(c, connectionLost, loss, now)
		}
		for _, c := range v.s.table.opened {
			if c.conn == conn {
				v.s.table.move(c, cut)
			}
		}
		if crashed || len(inFlight) > 0 { // a start that failed says nothing about any call
			v.s.quarantine.last = inFlight
		}
		clear(v.late)
		v.s.sleep.forget(conn)
		if v.rootsEnd > 0 && conn.Delivery(v.rootsEnd) == fault.Unsent {
			v.s.memory.rootsChanged = true
		}
		v.rootsEnd = 0
	})
}

// lostWith returns the calls that a connection ended with, in their order.
func (v *server) lostWith(conn *upstream.Conn) (lost []*Call) {
	for _, c := range v.s.table.flight {
		if c.conn == conn && !conn.Lingers(c.end) {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b *Call) int { return cmp.Compare(a.seq, b.seq) })
	return lost
}

// Lost handles the loss of one HTTP exchange while the connection goes on.
func (v *server) Lost(conn *upstream.Conn, id []byte, loss upstream.Loss) {
	now := time.Now()
	var c *Call
	v.s.update(func() {
		if c = v.awaiting(conn, id); c == nil {
			return // cancelled or timed out meanwhile
		}
		if c.class == Stream && (!loss.Final || loss.OfLogin() && c.stream.acked) {
			v.reopen(c, conn, now)
			return
		}
		v.lose(c, exchangeLost, loss, now)
	})
	if c != nil && loss.Delivery == fault.Unknown {
		v.s.up.Record(conn.Generation, health.Broken, 0, now)
	}
}

// lose carries out what decide says about a lost call.
func (v *server) lose(c *Call, kind lossKind, loss upstream.Loss, now time.Time) {
	v.tellLoss(loss)
	if c.own != nil {
		if kind == exchangeLost {
			c.past.loss = &loss
		}
		v.s.fail(c, nil)
		return
	}
	c.past.loss = &loss
	if c.past.failed.IsZero() {
		c.past.failed = now
	}
	if c.past.unlisted && c.shape == 0 {
		c.shape = v.s.catalog.tools[c.tool].shape // as this server listed it meanwhile
	}
	if loss.Delivery != fault.Unsent {
		c.past.deaths++
	}
	delay := max(loss.After, jitter(retryBase, c.past.deaths+c.past.proven))
	judged := decide(v.factsOf(c), kind, loss, lossPolicy{
		quarantine: v.s.config.Limits.Quarantine > 0,
		budget:     v.s.budget.has(now),
		inTime:     kind == connectionLost || now.Add(delay).Before(v.retryUntil(c)),
		settled:    v.s.memory.known(),
		closing:    v.s.leaving.closing || kind == connectionLost && c.conn.Evidence().ByUs == upstream.ClientLeft,
		login:      len(v.s.config.Stages) > 0, // a stage is asked whether it holds the call
	})
	if judged.bar {
		v.s.quarantine.bar(c.Sign(), now, now.Add(v.s.config.Limits.Quarantine))
	}
	switch judged.action {
	case repeatCall:
		if judged.spends {
			v.s.budget.take(now)
		}
		if kind == exchangeLost && v.onHints(c) && c.conn == v.s.link.conn && !loss.Session {
			v.repeatOnceListed(c)
			return
		}
		v.repeat(c, kind, now.Add(delay))
	case refuseDiscover:
		v.s.watcher.refuseDiscover(c)
	case awaitDoctor:
		if loss.Code == fault.OutcomeUnknown {
			loss.Code = fault.ServerUnreachable // a handshake has no outcome
		}
		conn := c.conn
		if conn == v.s.link.conn {
			c.past.retryAt = never // it waits for the next connection
		}
		v.s.table.move(c, queued)
		v.s.later(func() { conn.Refuse(loss) })
	case awaitLogin:
		v.orHold(c, &Failure{Loss: &loss, MayWait: true}, func() { v.s.fail(c, v.lossFault(c, kind, loss.Code, now)) })
	case answerFault:
		f := v.lossFault(c, kind, judged.code, now)
		if loss.Login == nil {
			v.s.fail(c, f)
			return
		}
		v.orHold(c, &Failure{Fault: f, Loss: &loss}, func() { v.s.fail(c, f) })
	}
}

// orHold asks the stages, once the lock is free, whether one of them holds a call that is about to fail.
// Meanwhile the call is held. Otherwise fails answers it.
func (v *server) orHold(c *Call, f *Failure, fails func()) {
	needsPerson := f.Loss != nil || f.Trouble.Login != nil
	if len(v.s.config.Stages) == 0 || !needsPerson || c.own != nil || c.id == nil {
		fails()
		return
	}
	v.s.hold(c, &Held{fails: fails}, &Ruling{hold: func(ctx context.Context, h *Held) {
		if r := v.s.panel.failing(c, f); r.hold != nil {
			h.letGo()
			r.hold(ctx, h)
		}
	}})
}

// tellLoss tells the stages about the loss of a request.
func (v *server) tellLoss(loss upstream.Loss) {
	for _, stage := range v.s.config.Stages {
		if l, ok := stage.(Listener); ok {
			v.s.later(func() { l.Lost(loss) })
		}
	}
}

// factsOf collects what decide needs to know of a call that was just lost.
func (v *server) factsOf(c *Call) lostCall {
	return lostCall{
		class: v.s.classNow(c), method: c.msg.Method, deaths: c.past.deaths, proven: c.past.proven,
		laterWrite: v.s.order.laterWrite(c),
		lastDeath:  v.s.quarantine.last[c.Sign()],
	}
}

// repeat queues a lost call to be sent again: on the next connection, or on this one after retryAt.
func (v *server) repeat(c *Call, kind lossKind, retryAt time.Time) {
	if c.past.loss.Delivery == fault.Unsent && (kind == exchangeLost || reached(c.conn.Evidence())) {
		c.past.proven++
	}
	if kind == connectionLost && c.past.loss.Delivery == fault.Unknown {
		c.past.suspect = c.msg.Method == "tools/call"
	}
	v.s.table.move(c, queued)
	switch {
	case v.s.link.conn == nil:
	case c.past.loss.Session && v.s.link.conn == c.conn:
		c.past.retryAt = never // it waits for the next session
	default:
		c.past.retryAt = retryAt
		time.AfterFunc(time.Until(retryAt), func() { v.s.update(v.s.release) })
	}
}

// onHints reports whether only what its tool declares licenses to send a call again that may have run.
func (v *server) onHints(c *Call) bool {
	return c.msg.Method == "tools/call" && c.past.loss.Delivery == fault.Unknown && v.s.classNow(c) != Unsafe && v.s.policy(c.tool).Class(Unsafe) == Unsafe
}

// maxListAttempts bounds how often a server is asked whether it still lists the tool of a lost call.
const maxListAttempts = 3

// repeatOnceListed sends a lost call again on its connection if the server still lists its tool as one
// that may be repeated: what was lost may have been lost because another version was deployed.
func (v *server) repeatOnceListed(c *Call) {
	conn, m := c.conn, v.s.memory
	v.s.table.move(c, queued)
	c.past.retryAt = never
	v.s.work.background.Go(func() {
		listed := false
		for attempt := 1; attempt <= maxListAttempts && !listed; attempt++ {
			if attempt > 1 {
				time.Sleep(jitter(retryBase, attempt+1))
			}
			ctx, cancel := context.WithTimeout(context.Background(), listSoon)
			listed = (&restoring{s: v.s, ctx: ctx, conn: conn}).tools(m) == nil
			cancel()
		}
		v.s.update(func() {
			switch {
			case c.state != queued || v.s.link.conn != conn: // answered meanwhile, or the next connection has it
			case !listed || v.s.classNow(c) == Unsafe:
				c.class = Unsafe
				v.s.fail(c, v.lossFault(c, exchangeLost, fault.OutcomeUnknown, time.Now()))
			case v.toolChanged(c):
				v.s.fail(c, &fault.Fault{Code: fault.ToolChanged, Delivery: fault.Unknown})
			default:
				c.past.retryAt = time.Time{}
				v.s.release()
			}
		})
	})
}

// reached reports whether the server ever accepted the connection. If not, the attempt does not
// count: how long to wait for such a server is up to the caller's patience.
func reached(e upstream.Evidence) bool { return !e.Remote || e.Gone }

// lossFault returns the answer to a call that is not sent again.
func (v *server) lossFault(c *Call, kind lossKind, code fault.Code, now time.Time) *fault.Fault {
	f := &fault.Fault{Code: code, Delivery: overall(c, c.past.loss.Delivery), Detail: c.past.loss.Detail, Cause: c.past.loss.Cause()}
	if c.past.loss.After > 0 {
		f.NextTry = now.Add(c.past.loss.After)
	}
	if code == fault.CallTimeout {
		f.Waited = now.Sub(c.arrived)
	}
	if c.past.loss.Session && c.past.deaths > 1 {
		f.Detail += "; " + upstream.StickySessions
	}
	if kind == exchangeLost {
		f.Status = c.past.loss.Status
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
func (v *server) retryUntil(c *Call) time.Time {
	if c.class == Start {
		return c.arrived.Add(v.s.config.Timing.Patience)
	}
	return c.past.failed.Add(max(v.s.watcher.timeout(c), v.s.config.Timing.Patience))
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
func (v *server) reopen(c *Call, conn *upstream.Conn, now time.Time) {
	v.s.emit(c, event.Event{Kind: event.Replayed, Generation: conn.Generation, Detail: "its stream was interrupted"})
	c.stream.swallow, c.stream.gap = c.stream.acked, c.stream.acked
	v.s.table.move(c, cut)
	if now.Sub(c.sent) > reopenCalm {
		c.stream.reopened = 0
	}
	c.stream.reopened++
	delay := time.Duration(0)
	if c.stream.reopened > 1 {
		delay = jitter(reopenBase, c.stream.reopened)
	}
	time.AfterFunc(delay, func() {
		v.s.update(func() {
			if conn := v.s.link.conn; conn != nil && c.state == cut { // without a connection, Up opens it
				v.s.transmit(c, conn)
				v.s.later(conn.Flush)
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
func (v *server) hintAfterGap(id []byte) {
	c := v.s.table.calls.of(id)
	if c == nil || !c.stream.gap {
		return
	}
	c.stream.gap = false
	for _, line := range c.hints(func(string) bool { return true }, true) {
		v.s.out.put(Told{Line: line, About: c.id})
	}
}

// Gap handles a gap in a legacy server's own stream: changes may have been missed.
func (v *server) Gap(*upstream.Conn) {
	v.s.update(func() {
		v.s.listing.change() // that may have been announced in the gap
		var seen []string
		for method := range v.s.catalog.lists {
			seen = append(seen, method)
		}
		for _, line := range append(v.s.restorer.changed(seen, v.s.memory), v.s.restorer.updated(v.s.memory)...) {
			v.s.later(func() { v.s.out.send(Told{Line: line}) })
		}
	})
}
