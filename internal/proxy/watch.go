package proxy

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// pulse is what we know of the connection's liveness.
type pulse struct {
	probe     *call     // under way
	probed    time.Time // when it was sent
	misses    int       // in a row
	wedged    bool      // a call ran out of time, and nothing was heard since it was sent
	vitals    upstream.Vitals
	worked    time.Duration // CPU time used until counted
	counted   time.Time     // CPU time is compared with what it was then
	looked    time.Time     // when vitals were taken
	idleSince time.Time     // CPU time has hardly advanced since
	stopped   time.Time     // since when it is stopped; zero: it is not
}

// missesToKill: one silent probe is a hiccup, three in a row are not.
const missesToKill = 3

// watch sees to everything that is due to time: deadlines, patience, probes,
// hangs. While nothing is, it sleeps: a machine may run hundreds of idle
// sessions.
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
				continue // we were stopped ourselves: what came meanwhile is heard first
			}
			if s.out.stuck(now) {
				continue // the client does not read: silence is not the server's fault
			}
			s.tick(now)
		}
	}
}

// doze reports whether nothing will be due before something new happens; rouse
// then has to be called when it does.
func (s *Session) doze() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dozing = len(s.flight) == 0 && len(s.held) == 0 && len(s.waiting) == 0 && len(s.repeats) == 0 &&
		len(s.notices.pending) == 0 && !s.pulse.wedged
	return s.dozing
}

// rouse wakes watch. The caller holds the lock.
func (s *Session) rouse() {
	if s.dozing {
		s.dozing = false
		s.wake <- struct{}{} // there is room: watch takes one for each time it dozes
	}
}

// tickEvery is fine enough for the shortest time we keep, and no finer.
func (s *Session) tickEvery() time.Duration {
	shortest := min(s.Patience, s.ProbeInterval, s.ProbeTimeout, s.HangGrace, s.hangWait, s.up.StartTimeout, 2*time.Second)
	limit := func(d time.Duration) {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	limit(s.Timeout)
	limit(s.MaxTime)
	for _, policy := range s.Tools {
		limit(policy.Timeout)
	}
	return max(shortest/8, 5*time.Millisecond)
}

func (s *Session) tick(now time.Time) {
	s.mu.Lock()
	s.endWaits(now)
	s.release()
	for _, line := range s.notices.overdue(now) {
		s.later(func() { s.out.send(Told{Line: line, About: noticeAbout(line)}) })
	}
	conn := s.conn
	s.endLingering(now)
	if conn != nil {
		s.takePulse(conn, now)
	}
	if conn != nil && s.conn == conn { // it may just have been replaced
		s.endOverdue(conn, now)
	}
	s.unlock()
	if conn != nil {
		conn.Flush()
	}
}

// endWaits fails the calls that waited long enough for a server that is down,
// or were held for too long.
func (s *Session) endWaits(now time.Time) {
	trouble := s.trouble
	// How long a start may take is up to the restart rules; a server that
	// cannot be reached does not even begin to.
	unreached := trouble != nil && trouble.Evidence.Remote
	giveUp := func(queue []*call, patience func(*call) time.Duration, why func(*call) *fault.Fault) []*call {
		kept := queue[:0]
		for _, c := range queue {
			limit := patience(c)
			switch {
			case c.over:
			case c.id != nil && limit > 0 && (c.class != Start || unreached) && now.Sub(c.waitsSince()) > limit:
				s.retire(c)
				s.later(func() { s.fail(c, why(c)) })
			default:
				kept = append(kept, c)
			}
		}
		clear(queue[len(kept):])
		return kept
	}
	unavailable := func(c *call) *fault.Fault { return troubled(trouble, c, now) }
	if s.conn == nil {
		patience := func(*call) time.Duration { return s.Patience }
		s.repeats = giveUp(s.repeats, patience, unavailable)
		s.waiting = giveUp(s.waiting, patience, unavailable)
	}
	turn := func(c *call) time.Duration {
		if own := s.timeout(c); own > 0 {
			return max(own, s.Patience)
		}
		return 0 // as long as it takes
	}
	s.held = giveUp(s.held, turn, func(c *call) *fault.Fault {
		return &fault.Fault{Code: fault.ServerBusy, Delivery: deliveryOf(c), Waited: now.Sub(c.arrived), Limit: turn(c)}
	})
}

// timeout returns how long a call may take without progress; 0: no limit.
func (s *Session) timeout(c *call) time.Duration {
	if own := s.Tools[c.tool].Timeout; c.tool != "" && own > 0 {
		return own
	}
	return s.Timeout
}

// deadline returns when a call in flight is ended, if the user set a limit, and
// that limit: its timeout without progress, extended by progress up to a
// maximum. While the user is being asked something, the clock stands still.
func (s *Session) deadline(c *call) (at time.Time, limit time.Duration) {
	limit = s.timeout(c)
	if limit == 0 && s.MaxTime == 0 || s.userAsked(c.conn) {
		return never, 0
	}
	heard := c.heard
	if last := c.conn.LastHeard(); last.After(heard) && c.conn.MidLine() {
		heard = last // half a line may be the answer to any call: as long as it grows, none stands still
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

// endOverdue times out the calls past their deadline. If the server is hung,
// it is replaced instead, and its calls are judged as after any death.
func (s *Session) endOverdue(conn *upstream.Conn, now time.Time) {
	for _, c := range s.flight {
		switch {
		case c.conn != conn || c.own != nil || c.over:
		case c.class == Start || conn.Starting():
			c.heard = now // its own time begins when it is read
			if patience := s.up.StartPatience(); conn.Overdue(c.sent, now, patience) {
				s.up.StartOverdue()
				s.retire(c)
				seen, shown := conn.Stuck(c.msg.Method, c.sent), conn.Glimpse()
				s.later(func() {
					s.fail(c, &fault.Fault{Code: fault.StartTimeout, Delivery: fault.Unknown, Detail: s.up.Explain("", seen),
						Waited: now.Sub(c.sent), Limit: patience, Evidence: shown})
				})
				s.replace(conn, "it did not answer "+c.msg.Method)
				return
			}
		case c.msg.Method == "server/discover" && !s.memory.known():
			if s.discoverOverdue(conn, c, now) {
				s.abandon(c)
				s.later(func() { s.refuseDiscover(c) })
			}
		default:
			at, limit := s.deadline(c)
			if now.Before(at) {
				continue
			}
			if conn.LastHeard().Before(c.sent) {
				s.pulse.wedged = true
				if s.hung(conn, now) {
					return
				}
				if s.pulse.misses >= missesToKill && now.Before(at.Add(s.HangGrace)) {
					continue // busy or hung will show in a moment; if hung, the call may yet be answered by the next one
				}
			}
			s.abandon(c)
			s.cancelUpstream(conn, c)
			s.up.Record(conn.Generation, health.NoAnswer, 0, now)
			s.later(func() {
				s.fail(c, &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: limit})
			})
		}
	}
	s.release()
}

// endLingering times out the calls that go on with a connection that is over.
func (s *Session) endLingering(now time.Time) {
	for _, c := range s.flight {
		if c.conn == s.conn || c.own != nil || c.over || !c.conn.Lingers(c.end) {
			continue
		}
		if at, limit := s.deadline(c); !now.Before(at) {
			s.retire(c)
			c.conn.Drop(c.end)
			s.later(func() {
				s.fail(c, &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Waited: now.Sub(c.sent), Limit: limit})
			})
		}
	}
}

// cancelUpstream tells the server that nobody waits any more: the same
// notification in both eras over stdio.
func (s *Session) cancelUpstream(conn *upstream.Conn, c *call) {
	if conn.Remote() {
		conn.Drop(c.end)
		if c.modern {
			return // hanging up says it all
		}
	}
	line := append(s.scratch[:0], `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	line = AppendID(line, c.n)
	line = append(line, `,"reason":"timed out"}}`+"\n"...)
	conn.Queue(line)
	s.scratch = line[:0]
}

// takePulse probes a silent connection and replaces a hung one.
func (s *Session) takePulse(conn *upstream.Conn, now time.Time) {
	p := &s.pulse
	heard := conn.LastHeard()
	if s.userAsked(conn) && now.After(heard) {
		heard = now // it may wait for the user and for nothing else: that is no silence
	}
	if heard.After(p.probed) {
		// Any byte is life.
		if p.probe != nil {
			s.abandon(p.probe)
		}
		*p = pulse{probed: heard}
	}
	switch {
	case p.probe != nil && now.Sub(p.probed) >= s.ProbeTimeout:
		s.abandon(p.probe)
		p.probe = nil
		p.misses++
		s.up.Record(conn.Generation, health.NoAnswer, 0, now)
		s.Events.Emit(event.Event{Kind: event.ProbeMissed, Server: s.Name, Generation: conn.Generation, Count: p.misses})
	case p.probe == nil && s.memory.known() && now.Sub(p.probed) >= s.ProbeInterval && now.Sub(s.silentSince(conn, now)) >= s.ProbeInterval:
		s.probe(conn, now)
	}
	if p.misses > 0 {
		s.examine(conn, now)
		s.hung(conn, now)
	}
}

// silentSince returns since when a call waits and nothing was heard; now if no
// call waits. An idle server is left alone: nobody would be helped by an answer,
// and hundreds of them would be kept awake.
func (s *Session) silentSince(conn *upstream.Conn, now time.Time) time.Time {
	since, heard := now, conn.LastHeard()
	if s.pulse.wedged {
		since = heard
	}
	for _, c := range s.flight {
		if c.conn == conn && c.own == nil && !c.over && c.heard.Before(since) {
			since = c.heard
		}
	}
	if heard.After(since) {
		return heard
	}
	return since
}

// probe asks for a sign of life: ping in the legacy era, server/discover in
// the modern one. Any answer will do, an error too.
func (s *Session) probe(conn *upstream.Conn, now time.Time) {
	method, params := "ping", []byte(nil)
	if s.memory.modern {
		method, params = "server/discover", firstOf(metaParams(s.memory.meta), s.memory.discover)
	}
	s.pulse.probe, s.pulse.probed = s.ownCall(method, params), now
	s.transmit(s.pulse.probe, conn)
}

// examine looks at the processes: stopped, or without CPU?
func (s *Session) examine(conn *upstream.Conn, now time.Time) {
	p := &s.pulse
	if now.Sub(p.looked) < s.HangGrace/8 {
		return
	}
	p.note(conn.Vitals(), now, s.HangGrace)
}

// note takes down what was seen of the processes. A server that hangs still
// reads our probes and tends its timers: only more than a hundredth of grace is
// work, and the little it uses does not add up from one grace to the next.
func (p *pulse) note(vitals upstream.Vitals, now time.Time, grace time.Duration) {
	p.worked = min(p.worked, vitals.CPU) // the time of a process that ended is gone from the sum
	works := p.looked.IsZero() || vitals.CPU > p.worked+grace/100+upstream.CPUTick
	if works {
		p.idleSince = now
	}
	if works || now.Sub(p.counted) >= grace {
		p.worked, p.counted = vitals.CPU, now
	}
	if !vitals.Stopped {
		p.stopped = time.Time{}
	} else if p.stopped.IsZero() {
		p.stopped = now
	}
	p.vitals, p.looked = vitals, now
}

// hung replaces a server that answers no probe, uses no CPU and keeps a call
// waiting past the call's own timeout, or for hangWait if it is stopped or the
// client gave up on it. Silence alone proves nothing: a server that handles one
// call at a time and waits for a slow API looks the same as a hung one, and
// without us the client would get its answer. Where nothing is known of its
// processes, as behind a URL, only a timeout the user set tells a hang from a
// long call.
func (s *Session) hung(conn *upstream.Conn, now time.Time) bool {
	p := &s.pulse
	doubted := !p.stopped.IsZero() || s.gaveUp.After(conn.LastHeard())
	waits := doubted && p.vitals.Known && now.Sub(s.silentSince(conn, now)) >= s.hangWait
	if p.misses < missesToKill || !p.wedged && !waits {
		return false
	}
	why := "it does not answer and does nothing"
	switch {
	case !p.vitals.Known:
		why = "it does not answer"
	case p.idleSince.IsZero() || now.Sub(p.idleSince) < s.HangGrace:
		return false // it works, perhaps beside a helper that is stopped
	case !p.stopped.IsZero() && now.Sub(p.stopped) < s.HangGrace:
		return false // it has just been stopped, and may be continued
	case !p.stopped.IsZero():
		why = "it was stopped and did not continue"
	}
	s.Events.Emit(event.Event{Kind: event.Hung, Server: s.Name, Generation: conn.Generation, PID: conn.PID(), Detail: why})
	s.replace(conn, why)
	return true
}

// replace ends a connection that is of no use. Calls that arrive from now on
// wait for the next one; an answer that still comes is delivered.
func (s *Session) replace(conn *upstream.Conn, why string) {
	conn.End(why, true)
	s.conn = nil
	s.admission.crash(time.Now())
}

// discoverPatience: a legacy server may ignore server/discover for ever; the
// client waits for our word to fall back to initialize.
const discoverPatience = 3 * time.Second

// discoverOverdue: a server that is still starting is not ignoring anyone, so
// the time counts from when it read the request, as far as that can be known,
// and from the last sign that it works.
func (s *Session) discoverOverdue(conn *upstream.Conn, c *call, now time.Time) bool {
	s.examine(conn, now)
	since := c.heard
	if s.pulse.idleSince.After(since) && s.pulse.vitals.Known {
		since = s.pulse.idleSince
	}
	patience := s.up.StartPatience()
	return conn.Overdue(since, now, min(discoverPatience, patience)) || now.Sub(c.heard) > patience
}

// discoverRefused: some legacy servers exit on server/discover. After the
// second time the client is better told to initialise.
func (s *Session) discoverRefused(c *call) bool {
	if c.msg.Method == "server/discover" && !s.memory.known() && c.deaths > 1 {
		s.retire(c)
		return true
	}
	return false
}

func (s *Session) refuseDiscover(c *call) {
	s.Events.Emit(event.Event{Kind: event.Failed, Server: s.Name, Method: c.msg.Method, Code: fault.MethodUnknownEra})
	f := &fault.Fault{Code: fault.MethodUnknownEra, Delivery: fault.Unknown, Server: s.Name, Name: s.label, Method: c.msg.Method, At: time.Now()}
	s.out.send(answer(c.id, reply(c.id, "error", f.RPCError())))
}
