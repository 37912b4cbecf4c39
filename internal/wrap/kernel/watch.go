package kernel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// pulse is what is known about the liveness of the connection.
type pulse struct {
	probe     *Call     // the one in flight
	probed    time.Time // when it was sent
	misses    int       // in a row
	idle      bool      // it is probed although no call waits, see Look
	answers   bool      // the server has answered a probe
	wedged    bool      // a call timed out, and nothing was received except in the first tenth of its time
	vitals    upstream.Vitals
	worked    time.Duration // CPU time used until counted
	counted   time.Time     // CPU time is compared with what it was then
	looked    time.Time     // when vitals were taken
	idleSince time.Time     // CPU time has hardly advanced since
	stopped   time.Time     // since when the process is stopped; zero: it is not
}

// watcher handles everything that depends on time: deadlines, patience, probes, hangs.
type watcher struct {
	s         *Session
	pulse     pulse
	elsewhere elsewhere
	gaveUp    time.Time     // when the client last cancelled a call in flight
	dozing    bool          // it waits for wake
	wake      chan struct{} // one message each time dozing ends
}

// missesToKill is how many probes in a row must be missed before a server counts as hung.
const missesToKill = 3

// watch handles everything that depends on time: deadlines, patience, probes, hangs. While there is
// nothing to do it sleeps, because a machine may run hundreds of idle sessions.
func (w *watcher) watch(ctx context.Context) {
	every := w.tickEvery()
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Now()
	for {
		if w.doze() {
			tick.Stop()
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
			tick.Reset(every)
			last = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := time.Now()
			asleep := now.Sub(last) > 4*every+time.Second
			last = now
			if asleep {
				continue // gauze itself was suspended: first read what came meanwhile
			}
			if w.s.out.stuck(now) {
				continue // the client does not read: silence is not the server's fault
			}
			w.tick(now)
		}
	}
}

// doze reports whether nothing will be due before something new happens; update then wakes watch.
func (w *watcher) doze() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.dozing = !w.due()
	return w.dozing
}

// due reports whether time has to be watched for something.
func (w *watcher) due() bool {
	return len(w.s.table.flight) > 0 || len(w.s.table.queue) > 0 || len(w.s.server.notices.pending) > 0 || w.pulse.wedged || w.pulse.halted()
}

// tickEvery returns an interval that is fine enough for the shortest timeout, and no finer.
func (w *watcher) tickEvery() time.Duration {
	shortest := min(w.s.config.Timing.Patience, w.s.config.Timing.ProbeInterval, w.s.config.Timing.ProbeTimeout, w.s.config.Timing.HangGrace, w.s.config.Timing.HangWait, w.s.config.Timing.DiscoverWait, w.s.config.Timing.StartAnswer, w.s.up.StartTimeout, 2*time.Second)
	limit := func(d time.Duration) {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	limit(w.s.config.Timing.ResumedRead)
	limit(w.s.config.Timing.ResumedWrite)
	limit(w.s.config.Timing.Timeout)
	limit(w.s.config.Timing.MaxTime)
	for _, policy := range w.s.config.Tools {
		limit(policy.Timeout)
	}
	return max(shortest/8, 5*time.Millisecond)
}

func (w *watcher) tick(now time.Time) {
	w.s.update(func() {
		w.endWaits(now)
		w.s.likeness.endStarts(now)
		w.s.release()
		for _, line := range w.s.server.notices.overdue(now) {
			w.s.later(func() { w.s.out.send(Told{Line: line, About: noticeAbout(line)}) })
		}
		conn := w.s.link.conn
		w.endLingering(now)
		if conn == nil {
			return
		}
		w.takePulse(conn, now)
		if w.s.link.conn == conn { // it may just have been replaced
			w.endOverdue(conn, now)
		}
		w.s.later(conn.Flush)
	})
}

// endWaits fails the calls that waited long enough for a server that is down, or for their turn.
func (w *watcher) endWaits(now time.Time) {
	// How long a start may take is up to the restart rules; a server that cannot be reached does
	// not start at all.
	unreached := w.s.link.trouble != nil && w.s.link.trouble.Evidence.Remote
	for _, c := range slices.Clone(w.s.table.queue) {
		switch limit := w.turnTimeout(c); {
		case c.id == nil || c.class == Start && !unreached:
		case w.s.link.conn == nil && now.After(w.s.likeness.holdUntil(c, now)):
			w.s.likeness.unavailable(c, w.s.link.trouble)
		case w.s.link.conn != nil && limit > 0 && now.Sub(c.waitsSince()) > limit:
			w.s.fail(c, &fault.Fault{Code: fault.ServerBusy, Delivery: deliveryOf(c), Waited: now.Sub(c.arrived), Limit: limit})
		}
	}
}

// turnTimeout returns how long a call may wait for its turn; 0: no limit.
func (w *watcher) turnTimeout(c *Call) time.Duration {
	if own := w.timeout(c); own > 0 {
		return max(own, w.s.config.Timing.Patience)
	}
	return 0
}

// timeout returns how long a call may take without progress; 0: no limit.
func (w *watcher) timeout(c *Call) time.Duration {
	if own := w.s.policy(c.tool).Timeout; c.tool != "" && own > 0 {
		return own
	}
	return w.s.config.Timing.Timeout
}

// deadline returns when a call in flight times out, and the limit that applies: its timeout,
// extended by progress up to MaxTime. It returns never while the client has a question from the
// server.
func (w *watcher) deadline(c *Call) (at time.Time, limit time.Duration) {
	limit = w.timeout(c)
	if limit == 0 && w.s.config.Timing.MaxTime == 0 || w.s.dialogue.userAsked(c.conn) {
		return never, 0
	}
	heard := c.heard
	if last := c.conn.LastHeard(); last.After(heard) && c.conn.MidLine() {
		heard = last // a partial line that grows may be the answer to any call
	}
	at = never
	if limit > 0 {
		at = heard.Add(limit)
	}
	if most := c.sent.Add(max(w.s.config.Timing.MaxTime, limit) + c.asked); w.s.config.Timing.MaxTime > 0 && most.Before(at) {
		return most, w.s.config.Timing.MaxTime
	}
	return at, limit
}

// never is the deadline of a call that has none.
var never = time.Unix(1<<40, 0)

// endOverdue times out the calls past their deadline. If the server is hung, it is replaced
// instead, and its calls are lost as after any death.
func (w *watcher) endOverdue(conn *upstream.Conn, now time.Time) {
	for _, c := range w.s.table.flight {
		switch {
		case c.conn != conn || c.own != nil:
		case c.class == Start || conn.Starting():
			c.heard = now // its own timeout starts when the server reads it
			patience, serves := w.s.up.StartPatience(), w.isElsewhere(conn, c.sent, now)
			if serves || conn.Overdue(c.sent, now, patience) {
				if !serves {
					w.s.up.StartOverdue()
				}
				f := &fault.Fault{Code: fault.StartTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: min(patience, now.Sub(c.sent)), Evidence: conn.Glimpse()}
				stuck := conn.Stuck(c.msg.Method, c.sent)
				stuck.Limit.Serves = w.elsewhere.serves
				w.s.later(func() { f.Cause = w.s.up.Cause(stuck) }) // slow; it runs before the answer is sent
				w.s.fail(c, f)
				w.replace(conn, "it did not answer "+c.msg.Method)
				return
			}
		case c.msg.Method == "server/discover" && !w.s.memory.known():
			if w.discoverOverdue(conn, c, now) {
				w.s.expectLate(c)
				w.refuseDiscover(c)
			}
		case w.cutOff(c, now):
		default:
			at, limit := w.deadline(c)
			if now.Before(at) {
				continue
			}
			if conn.LastHeard().Before(at.Add(-limit / 10 * 9)) { // what arrives at first may be older than the call
				w.pulse.wedged = true
				if w.hung(conn, now) {
					return
				}
				if w.pulse.misses >= missesToKill && now.Before(at.Add(w.s.config.Timing.HangGrace)) {
					continue // it will soon be clear whether it is hung; if so, the next process may answer the call
				}
			}
			w.s.expectLate(c)
			w.cancelUpstream(c, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"timed out"}}`+"\n", c.n))
			w.s.up.Record(conn.Generation, health.NoAnswer, 0, now)
			w.s.fail(c, &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: limit})
		}
	}
}

// cutOff gives a call up whose answer was cut off, and whose stream was resumed and stays silent: the
// server may have forgotten that it owes an answer. It reports whether it did.
func (w *watcher) cutOff(c *Call, now time.Time) bool {
	quiet := c.conn.QuietSince(c.end)
	limit := w.s.config.Timing.ResumedWrite
	if c.class.Reads() || w.s.classNow(c).Reads() {
		limit = w.s.config.Timing.ResumedRead
	}
	if quiet.IsZero() || limit < 0 || w.s.dialogue.userAsked(c.conn) || now.Sub(quiet) < limit || now.Sub(c.heard) < limit {
		return false
	}
	c.conn.Drop(c.end)
	w.s.server.lose(c, exchangeLost, upstream.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown,
		Detail: fmt.Sprintf("the answer was cut off, and nothing more arrived in the %v after the stream was resumed", limit)}, now)
	return true
}

// endLingering times out the calls that continue on a connection that was replaced.
func (w *watcher) endLingering(now time.Time) {
	for _, c := range w.s.table.flight {
		if c.conn == w.s.link.conn || c.own != nil || !c.conn.Lingers(c.end) {
			continue
		}
		if w.cutOff(c, now) {
			continue
		}
		if at, limit := w.deadline(c); !now.Before(at) {
			c.conn.Drop(c.end)
			w.s.fail(c, &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: limit})
		}
	}
}

// cancelUpstream cancels a call at the server. Over modern HTTP closing the exchange is the
// cancellation; otherwise notice is sent.
func (w *watcher) cancelUpstream(c *Call, notice []byte) {
	remote := c.conn.Remote()
	if remote {
		c.conn.Drop(c.end)
	}
	if c.conn == w.s.link.conn && !(remote && c.modern) { // otherwise the server is gone
		c.conn.Queue(notice)
	}
}

// takePulse probes a silent connection and replaces a hung one.
func (w *watcher) takePulse(conn *upstream.Conn, now time.Time) {
	if w.s.leaving.mute() {
		return // it cannot be asked
	}
	p := &w.pulse
	heard := conn.LastHeard()
	if w.s.dialogue.userAsked(conn) && now.After(heard) {
		heard = now // it may be waiting for the user alone
	}
	if heard.After(p.probed) {
		// Any byte shows that it is alive.
		answers := p.answers || p.probe != nil && p.probe.state == done && p.probe.past.loss == nil
		if p.probe != nil {
			w.s.abandon(p.probe)
		}
		*p = pulse{probed: heard, answers: answers}
	}
	switch {
	case p.probe != nil && p.probe.past.loss != nil && p.probe.past.loss.Status != 0:
		*p = pulse{probed: now, answers: p.answers} // it rejects the question, so it is there
	case p.probe != nil && now.Sub(p.probed) >= w.probeTimeout():
		w.s.abandon(p.probe)
		conn.Drop(p.probe.end)
		p.probe = nil
		w.missed(conn, now)
	case p.probe == nil && w.s.memory.known() && w.probeDue(conn, now):
		w.probe(conn, now)
	}
	if p.misses > 0 || w.quiet(conn, now) {
		w.examine(conn, now)
		w.hung(conn, now)
	}
}

// probeDue reports whether a call has waited for so long that the server is probed. One that is
// stopped is probed immediately.
func (w *watcher) probeDue(conn *upstream.Conn, now time.Time) bool {
	p := &w.pulse
	if !p.stopped.IsZero() && p.misses == 0 && w.quiet(conn, now) {
		return true
	}
	if p.idle && p.misses > 0 && p.misses < missesToKill && !w.s.restarting.inFlight(conn) {
		return true // one missing answer may be chance
	}
	return now.Sub(p.probed) >= w.s.config.Timing.ProbeInterval && now.Sub(w.silentSince(conn, now)) >= w.s.config.Timing.ProbeInterval
}

// quiet reports whether a call has waited for so long that the processes are examined.
func (w *watcher) quiet(conn *upstream.Conn, now time.Time) bool {
	return now.Sub(w.silentSince(conn, now)) >= w.s.config.Timing.HangGrace/2
}

// silentSince returns since when a call waits and nothing was received; now if no call waits. Only Look
// probes idle servers: doing so always would keep hundreds of them awake for nothing.
func (w *watcher) silentSince(conn *upstream.Conn, now time.Time) time.Time {
	since, heard := now, conn.LastHeard()
	if w.pulse.wedged {
		since = heard
	}
	for _, c := range w.s.table.flight {
		if c.conn == conn && c.own == nil && c.heard.Before(since) {
			since = c.heard
		}
	}
	if heard.After(since) {
		return heard
	}
	return since
}

// probe sends a liveness probe: ping in the legacy era, server/discover in the modern one. Any
// answer counts, including an error.
func (w *watcher) probe(conn *upstream.Conn, now time.Time) {
	method, params := "ping", []byte(nil)
	if w.s.memory.modern {
		method, params = "server/discover", firstOf(metaParams(w.s.memory.meta), w.s.memory.discover)
	}
	w.pulse.probe, w.pulse.probed = w.s.restorer.ownCall(method, params), now
	w.s.transmit(w.pulse.probe, conn)
}

// examine checks whether the server's processes are stopped or use no CPU.
func (w *watcher) examine(conn *upstream.Conn, now time.Time) {
	p := &w.pulse
	if now.Sub(p.looked) < w.s.config.Timing.HangGrace/8 {
		return
	}
	p.note(conn.Vitals(), now, w.s.config.Timing.HangGrace)
}

// note records the vitals of the processes. A hung server still reads our probes and runs its
// timers, so only more than a hundredth of grace counts as work, and the little it uses does not add
// up from one grace to the next. Nor does the time count for which a debugger holds it.
func (p *pulse) note(vitals upstream.Vitals, now time.Time, grace time.Duration) {
	p.worked = min(p.worked, vitals.CPU) // the time of a process that ended is gone from the sum
	works := p.looked.IsZero() || vitals.Held || vitals.CPU > p.worked+grace/100+upstream.CPUTick
	if works {
		p.idleSince = now
	}
	if works || now.Sub(p.counted) >= grace {
		p.worked, p.counted = vitals.CPU, now
	}
	switch {
	case !vitals.Stopped:
		p.stopped = time.Time{}
	case p.stopped.IsZero() || now.Sub(p.looked) > grace: // in between it may have run
		p.stopped = now
	}
	p.vitals, p.looked = vitals, now
}

// hung replaces a server that answers no probe and uses no CPU, in three cases. It is stopped and
// was not continued within HangGrace: then it cannot answer. Or it keeps a call waiting past the
// call's own timeout, or for HangWait after the client cancelled a call. Silence alone proves
// nothing: a server that handles one call at a time and waits for a slow API looks the same, and
// without gauze the client would get its answer. So does one that a debugger holds. Behind a URL
// nothing is known of the processes, so only a timeout the user set distinguishes a hang from a long
// call.
func (w *watcher) hung(conn *upstream.Conn, now time.Time) bool {
	p := &w.pulse
	waited := now.Sub(w.silentSince(conn, now))
	stopped := !p.stopped.IsZero() && p.misses > 0 && (waited >= w.s.config.Timing.HangGrace || p.halted())
	doubted := p.wedged || w.gaveUp.After(conn.LastHeard()) && p.vitals.Known && waited >= w.s.config.Timing.HangWait
	if !stopped && !(doubted && p.misses >= missesToKill) {
		return false
	}
	why := "it is not responding and is not using the CPU"
	switch {
	case !p.vitals.Known:
		why = "it is not responding"
	case p.idleSince.IsZero() || now.Sub(p.idleSince) < w.s.config.Timing.HangGrace:
		return false // it is working, perhaps with a helper process
	case !p.stopped.IsZero() && now.Sub(p.stopped) < w.s.config.Timing.HangGrace:
		return false // it was stopped a moment ago, and may be continued
	case !p.stopped.IsZero():
		why = "it was paused and did not resume"
	}
	w.s.emit(nil, event.Event{Kind: event.Hung, Generation: conn.Generation, PID: conn.PID(), Detail: why})
	w.replace(conn, why)
	return true
}

// replace ends a connection to a hung server. New calls wait for the next one; an answer that still
// comes is passed on.
func (w *watcher) replace(conn *upstream.Conn, why string) {
	conn.End(why, true)
	w.s.server.disconnect()
	w.s.link.away = true
	w.s.order.admission.crash(time.Now())
}

// discoverOverdue reports whether server/discover has had its time, which is counted from when the
// server read the request, as far as that is known, and from when it last used CPU: a server that
// is still starting does not ignore the request. Nor does one behind a URL that has not begun to
// respond: over HTTP a legacy server rejects the request, so it gets the time of initialize.
func (w *watcher) discoverOverdue(conn *upstream.Conn, c *Call, now time.Time) bool {
	w.examine(conn, now)
	since := c.heard
	if w.pulse.idleSince.After(since) && w.pulse.vitals.Known {
		since = w.pulse.idleSince
	}
	patience := w.s.up.StartPatience()
	wait := min(w.s.config.Timing.DiscoverWait, patience)
	if conn.Unheard(c.end) {
		wait = patience
	}
	return conn.Overdue(since, now, wait) || now.Sub(c.heard) > patience
}

// refuseDiscover ends a server/discover with the answer of a legacy server: the client initializes.
func (w *watcher) refuseDiscover(c *Call) {
	if !w.s.table.move(c, done) {
		return
	}
	w.s.likeness.portrayLegacy(c, nil)
	asleep := w.s.sleep.asleep // then nothing has failed
	w.s.later(func() {
		w.s.end(c, string(fault.DiscoverUnanswered), time.Now())
		if !asleep {
			w.s.emit(c, event.Event{Kind: event.Failed, Code: fault.DiscoverUnanswered})
		}
		f := &fault.Fault{Code: fault.DiscoverUnanswered, Delivery: fault.Unknown, Server: w.s.config.Name, Name: w.s.config.Label, Method: c.msg.Method, At: time.Now()}
		w.s.out.send(answer(c.id, reply(c.id, "error", f.RPCError())))
	})
}
