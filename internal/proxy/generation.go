package proxy

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Up publishes a connection. Open streams are opened again under the same id
// (their second acknowledgement is swallowed); then repetitions, in their
// order, then what waited, then new traffic.
func (s *Session) Up(conn *upstream.Conn) {
	for _, line := range s.takeNews() {
		s.out.send(Told{Line: line})
	}
	s.mu.Lock()
	s.conn, s.trouble, s.upSince = conn, nil, time.Now()
	s.pulse = pulse{}
	restored := conn.Generation > 1 && s.memory.known() && len(s.catalog.lists) > 0
	if s.memory.legacy {
		s.greet(conn)
	}
	if s.memory.rootsChanged {
		s.memory.rootsChanged = false
		conn.Queue([]byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n"))
	}
	for _, c := range s.streams {
		if c.conn == nil { // it was open on the last connection
			c.swallow = c.acked
			s.transmit(c, conn)
		}
	}
	queue := append(s.repeats, s.waiting...)
	s.repeats, s.waiting = nil, nil
	for _, c := range queue {
		switch {
		case c.over:
		case s.toolChanged(c):
			s.retire(c)
			s.later(func() { s.fail(c, &fault.Fault{Code: fault.ToolChanged, Delivery: deliveryOf(c)}) })
		case s.refusedAlready(c, conn):
			s.retire(c)
			s.later(func() { s.fail(c, &fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Refused}) })
		default:
			s.sendsAgain(c, conn)
			s.dispatch(c)
			if c.class == Start {
				s.greet(conn)
			}
		}
	}
	if restored {
		s.background.Go(func() { s.compare(conn) })
	}
	s.unlock()
	conn.Flush()
}

// greet sends the client's notifications/initialized, once a connection.
func (s *Session) greet(conn *upstream.Conn) {
	if s.memory.greeting != nil && s.greetedGeneration != conn.Generation {
		s.greetedGeneration = conn.Generation
		conn.Queue(s.memory.greeting)
	}
}

// sendsAgain tells of a repetition, now that it takes place.
func (s *Session) sendsAgain(c *call, conn *upstream.Conn) {
	c.again, c.retryAt = false, time.Time{}
	if c.deaths+c.proven == 0 {
		return
	}
	s.counters.Replayed++
	detail := "it is safe to repeat"
	if c.refused != nil {
		detail = "the server did not know its session"
	} else if c.unread {
		detail = "it was never read"
		if conn.Remote() {
			detail = "it did not run"
		}
	}
	s.Events.Emit(event.Event{Kind: event.Replayed, Server: s.Name, Generation: conn.Generation, Method: c.msg.Method, Tool: c.tool, Detail: detail})
}

func (s *Session) takeNews() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.news
	s.news = nil
	return news
}

// toolChanged reports whether a call that was sent before would now reach
// another tool of the same name.
func (s *Session) toolChanged(c *call) bool {
	return c.shape != 0 && (c.deaths > 0 || c.proven > 0) && s.catalog.tools[c.tool].shape != c.shape
}

// refusedAlready reports whether a call that may act would be sent again in the
// very session for which the server refused it: then the refusal had a
// different reason.
func (s *Session) refusedAlready(c *call, conn *upstream.Conn) bool {
	return c.class == Unsafe && c.refused != nil && c.refused.SameSession(conn)
}

func deliveryOf(c *call) fault.Delivery {
	if c.deaths > 0 {
		return fault.Unknown
	}
	return fault.Unsent
}

// overall is how far a call got at all, if it got this far the last time: what
// was sent once is not unsent because a repetition was not.
func overall(c *call, last fault.Delivery) fault.Delivery {
	if last == fault.Unsent {
		return deliveryOf(c)
	}
	return last
}

// Unreachable: there is no connection, and this is how things stand.
func (s *Session) Unreachable(t upstream.Trouble) {
	s.mu.Lock()
	s.trouble = &t
	var failing []*call
	giveUp := func(queue []*call) []*call {
		return slices.DeleteFunc(queue, func(c *call) bool {
			if !c.over && !s.hopeless(c) {
				return false
			}
			if !c.over {
				s.retire(c)
				failing = append(failing, c)
			}
			return true
		})
	}
	s.repeats, s.waiting = giveUp(s.repeats), giveUp(s.waiting)
	s.mu.Unlock()
	for _, c := range failing {
		s.fail(c, troubled(&t, c, time.Now()))
	}
}

// hopeless reports whether the server will not be tried again while the call
// may wait for it.
func (s *Session) hopeless(c *call) bool {
	t := s.trouble
	return t != nil && (t.Permanent || t.Open && (t.NextTry.IsZero() || t.NextTry.After(c.waitsSince().Add(s.Patience))))
}

// troubled is the fault of a call that cannot wait for the server any longer.
func troubled(t *upstream.Trouble, c *call, now time.Time) *fault.Fault {
	f := &fault.Fault{Code: fault.ServerStarting, Delivery: deliveryOf(c), Waited: now.Sub(c.waitsSince())}
	if t != nil {
		f.Code, f.Detail, f.Cause, f.Since, f.NextTry, f.Attempts = t.Code, t.Detail, t.Cause, t.Since, t.NextTry, t.Attempts
		f.Evidence = t.Evidence.Shown()
	}
	return f
}
