package kernel

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
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
		conn, now := s.link.conn, time.Now()
		if conn == nil || !s.watcher.mayLook(conn, now) {
			return
		}
		s.watcher.pulse.idle = true
		if s.watcher.pulse.deaf(conn) {
			s.watcher.examine(conn, now)
			return
		}
		s.watcher.probe(conn, now)
		s.later(conn.Flush)
	})
}

// mayLook reports whether an answer that is missing would mean something: the server has nothing to do for
// this session, and was not heard a moment ago. A call that the client cancelled may still run.
func (w *watcher) mayLook(conn *upstream.Conn, now time.Time) bool {
	heard := conn.LastHeard()
	switch {
	case !w.s.memory.known() || w.s.leaving.mute() || w.pulse.probe != nil || w.s.restarting.inFlight(conn) || w.s.dialogue.userAsked(conn) || conn.Blocked():
		return false
	case w.gaveUp.After(heard) && now.Sub(w.gaveUp) < w.s.config.Timing.HangWait:
		return false
	}
	return now.Sub(heard) >= min(time.Second, w.s.config.Timing.ProbeTimeout/5) || w.s.up.Health() != health.Healthy
}

// keepLooking looks at the server until ctx ends.
func (w *watcher) keepLooking(ctx context.Context) {
	tick := time.NewTicker(w.s.config.Timing.IdleProbe)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.s.Look()
		}
	}
}

// Busy reports whether a call of the client waits for an answer of the server.
func (s *Session) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link.conn != nil && s.restarting.inFlight(s.link.conn)
}

// Silent reports whether all that the server left unanswered are probes for which no call waited. It may be at
// work.
func (s *Session) Silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.watcher.pulse
	return s.link.conn != nil && p.idle && p.misses > 0 && !p.halted() && !p.wedged && !s.watcher.gaveUp.After(s.link.conn.LastHeard())
}

// probeTimeout returns how long the server may take to answer the probe in flight. An idle one has nothing
// else to do.
func (w *watcher) probeTimeout() time.Duration {
	if w.pulse.idle {
		return w.s.config.Timing.ProbeTimeout / 2
	}
	return w.s.config.Timing.ProbeTimeout
}

// missed records a probe without an answer. If the server was idle and never answered one, that says nothing:
// it may not know the question. Over HTTP even that has an answer.
func (w *watcher) missed(conn *upstream.Conn, now time.Time) {
	p := &w.pulse
	p.misses++
	if p.idle && !p.answers && !conn.Remote() {
		return
	}
	w.s.up.Record(conn.Generation, health.NoAnswer, 0, now)
	if !p.idle || p.misses <= missesToKill { // as long as it is idle, nothing more follows
		w.s.emit(nil, event.Event{Kind: event.ProbeMissed, Generation: conn.Generation, Count: p.misses})
	}
}

// deaf reports whether probes of an idle server are pointless: it answered none. Its processes are looked at
// instead.
func (p *pulse) deaf(conn *upstream.Conn) bool {
	return !p.answers && !conn.Remote() && p.misses >= missesToKill
}

// halted reports whether an idle server is stopped, as far as it was examined.
func (p *pulse) halted() bool { return p.idle && !p.stopped.IsZero() }
