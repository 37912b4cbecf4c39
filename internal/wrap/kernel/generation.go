package kernel

import (
	"errors"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Up publishes a connection. Open streams are opened again under the same id (their second
// acknowledgement is swallowed); then repetitions, in their order, then what waited, then new
// traffic.
func (v *server) Up(conn *upstream.Conn) {
	var news [][]byte
	v.s.update(func() { news, v.s.restorer.news = v.s.restorer.news, nil })
	for _, line := range news {
		v.s.out.send(Told{Line: line})
	}
	v.s.update(func() {
		if v.s.likeness.told != "" { // the session began a moment ago, and was not restored on this connection
			conn.End("the session started without it", true)
			return
		}
		v.s.link.use(conn)
		v.s.link.trouble, v.s.link.upSince = nil, time.Now()
		v.s.watcher.pulse, v.s.link.away, v.s.restarting.restarted = pulse{answers: v.s.watcher.pulse.answers}, false, false
		if conn.Remote() && v.s.catalog.listedOn != conn.Generation {
			// A different version may have been deployed: what the tools declared licenses nothing
			// until they are listed. A process is asked before anything is repeated.
			v.s.catalog.remembered = len(v.s.catalog.tools) > 0
		}
		v.s.sleep.begin()
		v.s.restarting.endRestart(nil)
		if v.s.memory.legacy {
			v.s.restorer.greet(conn)
		}
		if v.s.memory.rootsChanged {
			v.s.memory.rootsChanged = false
			conn.Queue([]byte(`{"jsonrpc":"2.0","method":"` + rootsChanged + `"}` + "\n"))
		}
		for c := range v.s.table.calls.all() {
			if c.state == cut {
				c.stream.swallow = c.stream.acked
				v.s.transmit(c, conn)
			}
		}
		slices.SortStableFunc(v.s.table.queue, inTurn)
		for _, c := range slices.Clone(v.s.table.queue) {
			c.past.retryAt = time.Time{}
			v.s.listing.again(c)
			v.failIfChanged(c)
		}
		v.s.release()
		if (conn.Generation > 1 || v.s.catalog.remembered) && v.s.memory.known() {
			v.s.restorer.askAgain(conn)
		}
		v.s.later(conn.Flush)
	})
}

// askAgain asks a server again for what it listed before.
func (r *restorer) askAgain(conn *upstream.Conn) {
	if len(r.s.catalog.tools) > 0 && r.s.catalog.lists["tools/list"] == nil {
		r.askTools(conn)
	}
	if len(r.s.catalog.lists) > 0 {
		r.s.listing.asking = r.s.listing.asking || r.s.catalog.lists["tools/list"] != nil
		r.s.work.background.Go(func() { r.compare(conn) })
	}
}

// disconnect forgets the connection, and with it what is in flight on it.
func (v *server) disconnect() {
	v.s.link.use(nil)
	v.s.order.admission.empty()
	v.s.listing.disconnect()
}

// greet sends the client's notifications/initialized, once for each connection.
func (r *restorer) greet(conn *upstream.Conn) {
	if r.s.memory.greeting != nil && r.greetedGeneration != conn.Generation {
		r.greetedGeneration = conn.Generation
		conn.Queue(r.s.memory.greeting)
	}
}

// failIfChanged fails a queued call that must not be sent again to the server as it is now.
func (v *server) failIfChanged(c *Call) {
	sure := v.s.config.Sure && c.tool != ""
	licensed := c.past.deaths > 0 && (c.class != Unsafe || sure)
	switch {
	case v.toolChanged(c):
		v.s.fail(c, &fault.Fault{Code: fault.ToolChanged, Delivery: deliveryOf(c)})
	case v.s.catalog.remembered && licensed && (sure || v.s.classNow(c) == Unsafe): // what licensed a repetition is not listed
		c.class = Unsafe
		v.s.fail(c, &fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown})
	}
}

// toolChanged reports whether a call that was sent or corrected before, or whose response is held, would now reach
// a different tool of the same name.
func (v *server) toolChanged(c *Call) bool {
	return (c.shape != 0 || v.s.config.Sure) && !c.awaitsList && (v.s.config.Sure || c.repeated() || !c.part.again.IsZero() || c.state == held) && v.s.catalog.tools[c.tool].shape != c.shape
}

// deliveryOf returns how far a call that is not in flight got.
func deliveryOf(c *Call) fault.Delivery {
	if c.past.deaths > 0 {
		return fault.Unknown
	}
	return fault.Unsent
}

// overall returns how far a call got in all its attempts, given the last: what was sent once does
// not become unsent because its repetition was not sent.
func overall(c *Call, last fault.Delivery) fault.Delivery {
	if last == fault.Unsent {
		return deliveryOf(c)
	}
	return last
}

// Unreachable is called while the server is down: calls that cannot wait any longer fail.
func (v *server) Unreachable(t upstream.Trouble) {
	v.s.update(func() {
		if t.Code == "" { // a different way to start it was found
			v.s.link.trouble, v.s.likeness.delayed = nil, nil
			return
		}
		known := v.s.link.trouble != nil && v.s.link.trouble.Generation == t.Generation
		v.s.link.trouble = &t
		if !known { // otherwise it is not the result of another attempt
			v.s.restarting.endRestart(errors.New(v.s.restarting.sinceRestart("not available: " + v.s.config.Words.Redact(t.Detail))))
		}
		now := time.Now()
		for _, c := range slices.Clone(v.s.table.queue) {
			if v.s.likeness.hopeless(c) {
				v.orHold(c, &Failure{Trouble: &t, MayWait: true}, func() { v.s.likeness.unavailable(c, &t) })
			}
		}
		v.s.likeness.noteDelay(t, now)
	})
}

// troubled returns the fault of a call that cannot wait for the server any longer.
func troubled(t *upstream.Trouble, c *Call, now time.Time) *fault.Fault {
	f := &fault.Fault{Code: fault.ServerStarting, Delivery: deliveryOf(c), Waited: now.Sub(c.waitsSince())}
	if t != nil {
		f.Code, f.Detail, f.Cause, f.Since, f.NextTry, f.Attempts = t.Code, t.Detail, t.Cause, t.Since, upstream.Soonest(t.NextTry, now), t.Attempts
		f.Evidence = t.Evidence.Shown()
	}
	return f
}
