package proxy

import (
	"errors"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Up publishes a connection. Open streams are opened again under the same id (their second
// acknowledgement is swallowed); then repetitions, in their order, then what waited, then new
// traffic.
func (s *Session) Up(conn *upstream.Conn) {
	var news [][]byte
	s.update(func() { news, s.news = s.news, nil })
	for _, line := range news {
		s.out.send(Told{Line: line})
	}
	s.update(func() {
		if s.told != "" { // the session began a moment ago, and was not restored on this connection
			conn.End("a session began without it", true)
			return
		}
		s.conn, s.trouble, s.upSince = conn, nil, time.Now()
		s.pulse, s.away, s.restarted = pulse{answers: s.pulse.answers}, false, false
		if conn.Remote() && s.catalog.listedOn != conn.Generation {
			// A different version may have been deployed: what the tools declared licenses nothing
			// until they are listed. A process is asked before anything is repeated.
			s.catalog.remembered = len(s.catalog.tools) > 0
		}
		s.endRestart(nil)
		if s.memory.legacy {
			s.greet(conn)
		}
		if s.memory.rootsChanged {
			s.memory.rootsChanged = false
			conn.Queue([]byte(`{"jsonrpc":"2.0","method":"` + rootsChanged + `"}` + "\n"))
		}
		for _, c := range s.calls {
			if c.state == cut {
				c.stream.swallow = c.stream.acked
				s.transmit(c, conn)
			}
		}
		slices.SortStableFunc(s.queue, inTurn)
		for _, c := range slices.Clone(s.queue) {
			if c.login == nil {
				c.retryAt = time.Time{}
			}
			switch {
			case s.toolChanged(c):
				s.fail(c, &fault.Fault{Code: fault.ToolChanged, Delivery: deliveryOf(c)})
			case s.catalog.remembered && c.deaths > 0 && c.class != Unsafe && s.classNow(c) == Unsafe: // what licensed a repetition is not listed
				c.class = Unsafe
				s.fail(c, &fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown})
			}
		}
		s.release()
		if (conn.Generation > 1 || s.catalog.remembered) && s.memory.known() {
			s.askAgain(conn)
		}
		s.later(conn.Flush)
	})
}

// askAgain asks a server again for what it listed before.
func (s *Session) askAgain(conn *upstream.Conn) {
	if len(s.catalog.tools) > 0 && s.catalog.lists["tools/list"] == nil {
		s.askTools(conn)
	}
	if len(s.catalog.lists) > 0 {
		s.asking = s.asking || s.catalog.lists["tools/list"] != nil
		s.background.Go(func() { s.compare(conn) })
	}
}

// disconnect forgets the connection, and with it what is in flight on it.
func (s *Session) disconnect() {
	s.conn = nil
	s.admission.empty()
	s.listing.disconnect()
}

// greet sends the client's notifications/initialized, once for each connection.
func (s *Session) greet(conn *upstream.Conn) {
	if s.memory.greeting != nil && s.greetedGeneration != conn.Generation {
		s.greetedGeneration = conn.Generation
		conn.Queue(s.memory.greeting)
	}
}

// toolChanged reports whether a call that was sent or corrected before would now reach a different tool of the
// same name.
func (s *Session) toolChanged(c *call) bool {
	return c.shape != 0 && (c.repeated() || c.correction != nil || c.repetition != nil) && s.catalog.tools[c.tool].shape != c.shape
}

// deliveryOf returns how far a call that is not in flight got.
func deliveryOf(c *call) fault.Delivery {
	if c.deaths > 0 {
		return fault.Unknown
	}
	return fault.Unsent
}

// overall returns how far a call got in all its attempts, given the last: what was sent once does
// not become unsent because its repetition was not sent.
func overall(c *call, last fault.Delivery) fault.Delivery {
	if last == fault.Unsent {
		return deliveryOf(c)
	}
	return last
}

// Unreachable is called while the server is down: calls that cannot wait any longer fail.
func (s *Session) Unreachable(t upstream.Trouble) {
	s.update(func() {
		if t.Code == "" { // a different way to start it was found
			s.trouble, s.delayed = nil, nil
			return
		}
		known := s.trouble != nil && s.trouble.Generation == t.Generation
		s.trouble = &t
		if !known { // otherwise it is not the result of another attempt
			s.endRestart(errors.New(s.sinceRestart("not available: " + s.secrets.Load().Redact(t.Detail))))
		}
		now := time.Now()
		for _, c := range slices.Clone(s.queue) {
			if s.hopeless(c) && !s.awaitLogin(c, t.Login) {
				s.unavailable(c, &t)
			}
		}
		s.noteDelay(t, now)
	})
}

// troubled returns the fault of a call that cannot wait for the server any longer.
func troubled(t *upstream.Trouble, c *call, now time.Time) *fault.Fault {
	f := &fault.Fault{Code: fault.ServerStarting, Delivery: deliveryOf(c), Waited: now.Sub(c.waitsSince())}
	if t != nil {
		f.Code, f.Detail, f.Cause, f.Since, f.NextTry, f.Attempts = t.Code, t.Detail, t.Cause, t.Since, upstream.Soonest(t.NextTry, now), t.Attempts
		f.Evidence = t.Evidence.Shown()
	}
	return f
}
