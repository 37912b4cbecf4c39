package proxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// pulse is what is known about the liveness of the connection.
type pulse struct {
	probe     *call     // the one in flight
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

// missesToKill is how many probes in a row must be missed before a server counts as hung.
const missesToKill = 3

// watch handles everything that depends on time: deadlines, patience, probes, hangs. While there is
// nothing to do it sleeps, because a machine may run hundreds of idle sessions.
func (s *Session) watch(ctx context.Context) {
	every := s.tickEvery()
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Now()
	for {
		if s.doze() {
			tick.Stop()
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
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
			if s.out.stuck(now) {
				continue // the client does not read: silence is not the server's fault
			}
			s.tick(now)
		}
	}
}

// doze reports whether nothing will be due before something new happens; update then wakes watch.
func (s *Session) doze() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dozing = !s.due()
	return s.dozing
}

// due reports whether time has to be watched for something.
func (s *Session) due() bool {
	return len(s.flight) > 0 || len(s.queue) > 0 || len(s.notices.pending) > 0 || s.pulse.wedged || s.pulse.halted()
}

// tickEvery returns an interval that is fine enough for the shortest timeout, and no finer.
func (s *Session) tickEvery() time.Duration {
	shortest := min(s.Patience, s.ProbeInterval, s.ProbeTimeout, s.HangGrace, s.hangWait, s.discoverWait, s.startAnswer, s.up.StartTimeout, 2*time.Second)
	limit := func(d time.Duration) {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	limit(s.ResumedRead)
	limit(s.ResumedWrite)
	limit(s.Timeout)
	limit(s.MaxTime)
	for _, policy := range s.Tools {
		limit(policy.Timeout)
	}
	return max(shortest/8, 5*time.Millisecond)
}

func (s *Session) tick(now time.Time) {
	s.update(func() {
		s.endWaits(now)
		s.endStarts(now)
		s.release()
		for _, line := range s.notices.overdue(now) {
			s.later(func() { s.out.send(Told{Line: line, About: noticeAbout(line)}) })
		}
		conn := s.conn
		s.endLingering(now)
		if conn == nil {
			return
		}
		s.takePulse(conn, now)
		if s.conn == conn { // it may just have been replaced
			s.endOverdue(conn, now)
		}
		s.later(conn.Flush)
	})
}

// endWaits fails the calls that waited long enough for a server that is down, or for their turn.
func (s *Session) endWaits(now time.Time) {
	// How long a start may take is up to the restart rules; a server that cannot be reached does
	// not start at all.
	unreached := s.trouble != nil && s.trouble.Evidence.Remote
	for _, c := range slices.Clone(s.queue) {
		switch limit := s.turnTimeout(c); {
		case c.id == nil || c.login != nil || c.class == Start && !unreached:
		case s.conn == nil && now.After(s.holdUntil(c, now)):
			s.unavailable(c, s.trouble)
		case s.conn != nil && limit > 0 && now.Sub(c.waitsSince()) > limit:
			s.fail(c, &fault.Fault{Code: fault.ServerBusy, Delivery: deliveryOf(c), Waited: now.Sub(c.arrived), Limit: limit})
		}
	}
}

// turnTimeout returns how long a call may wait for its turn; 0: no limit.
func (s *Session) turnTimeout(c *call) time.Duration {
	if own := s.timeout(c); own > 0 {
		return max(own, s.Patience)
	}
	return 0
}

// timeout returns how long a call may take without progress; 0: no limit.
func (s *Session) timeout(c *call) time.Duration {
	if own := s.Tools[c.tool].Timeout; c.tool != "" && own > 0 {
		return own
	}
	return s.Timeout
}

// deadline returns when a call in flight times out, and the limit that applies: its timeout,
// extended by progress up to MaxTime. It returns never while the client has a question from the
// server.
func (s *Session) deadline(c *call) (at time.Time, limit time.Duration) {
	limit = s.timeout(c)
	if limit == 0 && s.MaxTime == 0 || s.userAsked(c.conn) {
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
	if most := c.sent.Add(max(s.MaxTime, limit) + c.asked); s.MaxTime > 0 && most.Before(at) {
		return most, s.MaxTime
	}
	return at, limit
}

// never is the deadline of a call that has none.
var never = time.Unix(1<<40, 0)

// endOverdue times out the calls past their deadline. If the server is hung, it is replaced
// instead, and its calls are lost as after any death.
func (s *Session) endOverdue(conn *upstream.Conn, now time.Time) {
	for _, c := range s.flight {
		switch {
		case c.conn != conn || c.own != nil:
		case c.class == Start || conn.Starting():
			c.heard = now // its own timeout starts when the server reads it
			patience, serves := s.up.StartPatience(), s.isElsewhere(conn, c.sent, now)
			if serves || conn.Overdue(c.sent, now, patience) {
				if !serves {
					s.up.StartOverdue()
				}
				f := &fault.Fault{Code: fault.StartTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: min(patience, now.Sub(c.sent)), Evidence: conn.Glimpse()}
				stuck := conn.Stuck(c.msg.Method, c.sent)
				stuck.Limit.Serves = s.elsewhere.serves
				s.later(func() { f.Cause = s.up.Cause(stuck) }) // slow; it runs before the answer is sent
				s.fail(c, f)
				s.replace(conn, "it did not answer "+c.msg.Method)
				return
			}
		case c.msg.Method == "server/discover" && !s.memory.known():
			if s.discoverOverdue(conn, c, now) {
				s.expectLate(c)
				s.refuseDiscover(c)
			}
		case s.cutOff(c, now):
		default:
			at, limit := s.deadline(c)
			if now.Before(at) {
				continue
			}
			if conn.LastHeard().Before(at.Add(-limit / 10 * 9)) { // what arrives at first may be older than the call
				s.pulse.wedged = true
				if s.hung(conn, now) {
					return
				}
				if s.pulse.misses >= missesToKill && now.Before(at.Add(s.HangGrace)) {
					continue // it will soon be clear whether it is hung; if so, the next process may answer the call
				}
			}
			s.expectLate(c)
			s.cancelUpstream(c, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"timed out"}}`+"\n", c.n))
			s.up.Record(conn.Generation, health.NoAnswer, 0, now)
			s.fail(c, &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: limit})
		}
	}
}

// cutOff gives a call up whose answer was cut off, and whose stream was resumed and stays silent: the
// server may have forgotten that it owes an answer. It reports whether it did.
func (s *Session) cutOff(c *call, now time.Time) bool {
	quiet := c.conn.QuietSince(c.end)
	limit := s.ResumedWrite
	if c.class.reads() || s.classNow(c).reads() {
		limit = s.ResumedRead
	}
	if quiet.IsZero() || limit < 0 || s.userAsked(c.conn) || now.Sub(quiet) < limit || now.Sub(c.heard) < limit {
		return false
	}
	c.conn.Drop(c.end)
	s.lose(c, exchangeLost, upstream.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown,
		Detail: fmt.Sprintf("the answer was cut off, and nothing followed within %v after the stream was resumed", limit)}, now)
	return true
}

// endLingering times out the calls that continue on a connection that was replaced.
func (s *Session) endLingering(now time.Time) {
	for _, c := range s.flight {
		if c.conn == s.conn || c.own != nil || !c.conn.Lingers(c.end) {
			continue
		}
		if s.cutOff(c, now) {
			continue
		}
		if at, limit := s.deadline(c); !now.Before(at) {
			c.conn.Drop(c.end)
			s.fail(c, &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: limit})
		}
	}
}

// cancelUpstream cancels a call at the server. Over modern HTTP closing the exchange is the
// cancellation; otherwise notice is sent.
func (s *Session) cancelUpstream(c *call, notice []byte) {
	remote := c.conn.Remote()
	if remote {
		c.conn.Drop(c.end)
	}
	if c.conn == s.conn && !(remote && c.modern) { // otherwise the server is gone
		c.conn.Queue(notice)
	}
}

// takePulse probes a silent connection and replaces a hung one.
func (s *Session) takePulse(conn *upstream.Conn, now time.Time) {
	if s.mute() {
		return // it cannot be asked
	}
	p := &s.pulse
	heard := conn.LastHeard()
	if s.userAsked(conn) && now.After(heard) {
		heard = now // it may be waiting for the user alone
	}
	if heard.After(p.probed) {
		// Any byte shows that it is alive.
		answers := p.answers || p.probe != nil && p.probe.state == done && p.probe.loss == nil
		if p.probe != nil {
			s.abandon(p.probe)
		}
		*p = pulse{probed: heard, answers: answers}
	}
	switch {
	case p.probe != nil && p.probe.loss != nil && p.probe.loss.Status != 0:
		*p = pulse{probed: now, answers: p.answers} // it rejects the question, so it is there
	case p.probe != nil && now.Sub(p.probed) >= s.probeTimeout():
		s.abandon(p.probe)
		conn.Drop(p.probe.end)
		p.probe = nil
		s.missed(conn, now)
	case p.probe == nil && s.memory.known() && s.probeDue(conn, now):
		s.probe(conn, now)
	}
	if p.misses > 0 || s.quiet(conn, now) {
		s.examine(conn, now)
		s.hung(conn, now)
	}
}

// probeDue reports whether a call has waited for so long that the server is probed. One that is
// stopped is probed immediately.
func (s *Session) probeDue(conn *upstream.Conn, now time.Time) bool {
	p := &s.pulse
	if !p.stopped.IsZero() && p.misses == 0 && s.quiet(conn, now) {
		return true
	}
	if p.idle && p.misses > 0 && p.misses < missesToKill && !s.inFlight(conn) {
		return true // one missing answer may be chance
	}
	return now.Sub(p.probed) >= s.ProbeInterval && now.Sub(s.silentSince(conn, now)) >= s.ProbeInterval
}

// quiet reports whether a call has waited for so long that the processes are examined.
func (s *Session) quiet(conn *upstream.Conn, now time.Time) bool {
	return now.Sub(s.silentSince(conn, now)) >= s.HangGrace/2
}

// silentSince returns since when a call waits and nothing was received; now if no call waits. Only Look
// probes idle servers: doing so always would keep hundreds of them awake for nothing.
func (s *Session) silentSince(conn *upstream.Conn, now time.Time) time.Time {
	since, heard := now, conn.LastHeard()
	if s.pulse.wedged {
		since = heard
	}
	for _, c := range s.flight {
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
func (s *Session) probe(conn *upstream.Conn, now time.Time) {
	method, params := "ping", []byte(nil)
	if s.memory.modern {
		method, params = "server/discover", firstOf(metaParams(s.memory.meta), s.memory.discover)
	}
	s.pulse.probe, s.pulse.probed = s.ownCall(method, params), now
	s.transmit(s.pulse.probe, conn)
}

// examine checks whether the server's processes are stopped or use no CPU.
func (s *Session) examine(conn *upstream.Conn, now time.Time) {
	p := &s.pulse
	if now.Sub(p.looked) < s.HangGrace/8 {
		return
	}
	p.note(conn.Vitals(), now, s.HangGrace)
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
// call's own timeout, or for hangWait after the client cancelled a call. Silence alone proves
// nothing: a server that handles one call at a time and waits for a slow API looks the same, and
// without gauze the client would get its answer. So does one that a debugger holds. Behind a URL
// nothing is known of the processes, so only a timeout the user set distinguishes a hang from a long
// call.
func (s *Session) hung(conn *upstream.Conn, now time.Time) bool {
	p := &s.pulse
	waited := now.Sub(s.silentSince(conn, now))
	stopped := !p.stopped.IsZero() && p.misses > 0 && (waited >= s.HangGrace || p.halted())
	doubted := p.wedged || s.gaveUp.After(conn.LastHeard()) && p.vitals.Known && waited >= s.hangWait
	if !stopped && !(doubted && p.misses >= missesToKill) {
		return false
	}
	why := "it does not answer and uses no CPU"
	switch {
	case !p.vitals.Known:
		why = "it does not answer"
	case p.idleSince.IsZero() || now.Sub(p.idleSince) < s.HangGrace:
		return false // it is working, perhaps with a helper process
	case !p.stopped.IsZero() && now.Sub(p.stopped) < s.HangGrace:
		return false // it was stopped a moment ago, and may be continued
	case !p.stopped.IsZero():
		why = "it was stopped and did not continue"
	}
	s.emit(nil, event.Event{Kind: event.Hung, Generation: conn.Generation, PID: conn.PID(), Detail: why})
	s.replace(conn, why)
	return true
}

// replace ends a connection to a hung server. New calls wait for the next one; an answer that still
// comes is passed on.
func (s *Session) replace(conn *upstream.Conn, why string) {
	conn.End(why, true)
	s.disconnect()
	s.away = true
	s.admission.crash(time.Now())
}

// discoverOverdue reports whether server/discover has had its time, which is counted from when the
// server read the request, as far as that is known, and from when it last used CPU: a server that
// is still starting does not ignore the request.
func (s *Session) discoverOverdue(conn *upstream.Conn, c *call, now time.Time) bool {
	s.examine(conn, now)
	since := c.heard
	if s.pulse.idleSince.After(since) && s.pulse.vitals.Known {
		since = s.pulse.idleSince
	}
	patience := s.up.StartPatience()
	return conn.Overdue(since, now, min(s.discoverWait, patience)) || now.Sub(c.heard) > patience
}

// refuseDiscover ends a server/discover with the answer of a legacy server: the client initializes.
func (s *Session) refuseDiscover(c *call) {
	if !s.move(c, done) {
		return
	}
	s.portrayLegacy(c)
	s.later(func() {
		s.emit(c, event.Event{Kind: event.Failed, Code: fault.MethodUnknownEra})
		f := &fault.Fault{Code: fault.MethodUnknownEra, Delivery: fault.Unknown, Server: s.Name, Name: s.label, Method: c.msg.Method, At: time.Now()}
		s.out.send(answer(c.id, reply(c.id, "error", f.RPCError())))
	})
}
