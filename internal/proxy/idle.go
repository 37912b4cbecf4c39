package proxy

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// A server that no call waits for is probed only where its health is relied on: gauze serve, tasks and
// programs that set IdleProbe. What a missing answer means is decided by what is known: it makes the server
// unresponsive, and only a process that is stopped is replaced. One that is silent may be at work for
// a reason of its own.

// LookEvery is the time between two looks at an idle server where nothing else is configured. With three
// probes of half of ProbeTimeout, a frozen server is known within 15s.
const LookEvery = 5 * time.Second

// Look asks an idle server whether it responds. It returns immediately; an answer, or that there is none,
// changes the health of the server.
func (s *Session) Look() {
	s.update(func() {
		conn, now := s.conn, time.Now()
		if conn == nil || !s.mayLook(conn, now) {
			return
		}
		s.pulse.idle = true
		if s.pulse.deaf(conn) {
			s.examine(conn, now)
			return
		}
		s.probe(conn, now)
		s.later(conn.Flush)
	})
}

// mayLook reports whether an answer that is missing would mean something: the server has nothing to do for
// this session, and was not heard a moment ago. A call that the client cancelled may still run.
func (s *Session) mayLook(conn *upstream.Conn, now time.Time) bool {
	heard := conn.LastHeard()
	switch {
	case !s.memory.known() || s.mute() || s.pulse.probe != nil || s.inFlight(conn) || s.userAsked(conn) || conn.Blocked():
		return false
	case s.gaveUp.After(heard) && now.Sub(s.gaveUp) < s.hangWait:
		return false
	}
	return now.Sub(heard) >= min(time.Second, s.ProbeTimeout/5) || s.up.Health() != health.Healthy
}

// keepLooking looks at the server until ctx ends.
func (s *Session) keepLooking(ctx context.Context) {
	tick := time.NewTicker(s.IdleProbe)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Look()
		}
	}
}

// Busy reports whether a call of the client waits for an answer of the server.
func (s *Session) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && s.inFlight(s.conn)
}

// Silent reports whether all that the server left unanswered are probes for which no call waited. It may be at
// work.
func (s *Session) Silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.pulse
	return s.conn != nil && p.idle && p.misses > 0 && !p.halted() && !p.wedged && !s.gaveUp.After(s.conn.LastHeard())
}

// probeTimeout returns how long the server may take to answer the probe in flight. An idle one has nothing
// else to do.
func (s *Session) probeTimeout() time.Duration {
	if s.pulse.idle {
		return s.ProbeTimeout / 2
	}
	return s.ProbeTimeout
}

// missed records a probe without an answer. If the server was idle and never answered one, that says nothing:
// it may not know the question. Over HTTP even that has an answer.
func (s *Session) missed(conn *upstream.Conn, now time.Time) {
	p := &s.pulse
	p.misses++
	if p.idle && !p.answers && !conn.Remote() {
		return
	}
	s.up.Record(conn.Generation, health.NoAnswer, 0, now)
	if !p.idle || p.misses <= missesToKill { // as long as it is idle, nothing more follows
		s.emit(nil, event.Event{Kind: event.ProbeMissed, Generation: conn.Generation, Count: p.misses})
	}
}

// deaf reports whether probes of an idle server are pointless: it answered none. Its processes are looked at
// instead.
func (p *pulse) deaf(conn *upstream.Conn) bool {
	return !p.answers && !conn.Remote() && p.misses >= missesToKill
}

// halted reports whether an idle server is stopped, as far as it was examined.
func (p *pulse) halted() bool { return p.idle && !p.stopped.IsZero() }
