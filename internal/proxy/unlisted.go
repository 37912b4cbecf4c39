package proxy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// A call is checked against its tool's schema, and what the tool declares says whether it may be
// repeated. A client that never listed the tools (a script, curl, a client with a cache) gets the same:
// gauze lists them before the first call. The call waits in the queue, where nothing overtakes it, and
// is sent unchecked if the list does not come soon. What --repair strict checks is never sent
// unchecked: it waits longer, and is then refused.

// listing is how calls wait for the list of the tools.
type listing struct {
	waiting  int       // calls in the queue
	since    time.Time // when the first of them could have been sent; zero: none could
	losses   int       // connections that ended while they waited
	failure  error     // why the tools were not listed; nil: it is not known that they will not be
	checking bool      // a goroutine checks the calls that have waited
	clients  *call     // a request of the client that lists the tools; nil: none was seen
}

// maxListLosses is how many connections may end while calls wait: tools/list may be what ends them.
const maxListLosses = 2

// awaitsList reports whether a new call waits until the tools are listed.
func (s *Session) awaitsList(c *call) bool {
	if c.tool == "" || s.listsTool(c) {
		return false
	}
	strict := s.isStrict(c)
	if w := &s.listing; w.waiting == 0 && (s.catalog.listed || strict && !s.asking) {
		*w = listing{checking: w.checking} // the tools have changed, or are asked for again
	}
	return strict || !s.hasWaited(c)
}

// listsTool reports whether the list says what there is to know about the tool of a call.
func (s *Session) listsTool(c *call) bool {
	_, known := s.catalog.tools[c.tool]
	return (known || s.catalog.listed) && !(s.catalog.stale && s.isStrict(c))
}

// isStrict reports whether a call must not be sent unchecked.
func (s *Session) isStrict(c *call) bool {
	return repair.Mode(s.Tools[c.tool].repairMode(s.Repair)) == repair.ModeStrict
}

// hasWaited reports whether a call does not wait for the list any longer.
func (s *Session) hasWaited(c *call) bool {
	w := &s.listing
	strict := s.isStrict(c)
	limit := s.listWait
	if strict {
		limit = s.Patience
	}
	switch {
	case w.failure != nil, w.losses >= maxListLosses:
		return true
	case !strict && !s.memory.known() && !c.modern && !s.isOpening():
		return true // without a session, the server cannot be asked
	}
	return !w.since.IsZero() && time.Since(w.since) >= limit
}

// isOpening reports whether initialize is not answered yet.
func (s *Session) isOpening() bool {
	if s.memory.known() {
		return false
	}
	for _, c := range s.calls {
		if c.class == Start {
			return true
		}
	}
	return false
}

// isStarting reports whether the server has not read anything yet. How long that may take is up to
// others; a quarter of that is enough for the list.
func (s *Session) isStarting() bool {
	return s.conn.Starting() && time.Since(s.conn.Started) < s.up.StartPatience()/4
}

// listForCalls lists the tools for the calls that wait for that, and begins to check those that have
// waited. It is called after every change while calls wait. The caller holds the lock.
func (s *Session) listForCalls() {
	w := &s.listing
	switch {
	case s.conn == nil || w.checking:
	case s.nextToCheck() != nil:
		w.checking = true
		s.background.Go(s.checkCalls)
	case !s.isOpening():
		if w.since.IsZero() && !s.isStarting() {
			w.since = time.Now()
			time.AfterFunc(s.listWait, func() { s.update(func() {}) })
		}
		if first := s.queue[slices.IndexFunc(s.queue, (*call).waitsForList)]; !s.asking && !s.clientLists(first) {
			s.askToolsAs(s.conn, s.memoryFor(first))
		}
	}
}

func (c *call) waitsForList() bool { return c.awaitsList }

// nextToCheck returns the first call that has waited for the list; nil: there is none. On a pipe, all
// others wait for the first. Many calls may wait, so calls of the same tool are judged together.
func (s *Session) nextToCheck() *call {
	var waits *call
	for _, c := range s.queue {
		switch {
		case !c.awaitsList || waits != nil && waits.tool == c.tool && waits.modern == c.modern:
		case s.listsTool(c) || s.hasWaited(c):
			return c
		case s.conn != nil && !s.conn.Remote():
			return nil
		default:
			waits = c
		}
	}
	return nil
}

// clientLists reports whether the client itself is listing the tools, and began to before a call.
func (s *Session) clientLists(before *call) bool {
	w := &s.listing
	lists := func(c *call) bool { return c.msg.Method == "tools/list" && c.seq < before.seq }
	if w.clients != nil && w.clients.state != done && lists(w.clients) {
		return true
	}
	for _, c := range s.calls {
		if lists(c) {
			w.clients = c
			return true
		}
	}
	return false
}

// memoryFor returns how the tools are listed for a call: as in the session, or as the call itself says
// if it is the first request of a modern client.
func (s *Session) memoryFor(c *call) memory {
	if s.memory.known() || !c.modern {
		return s.memory
	}
	meta, _ := wire.Field(c.msg.Params, "_meta")
	return memory{modern: true, meta: withoutToken(meta)}
}

// disconnect notes that a connection ended. Calls that wait begin again on the next one.
func (w *listing) disconnect() {
	if w.waiting == 0 || w.since.IsZero() {
		return
	}
	w.since = time.Time{}
	w.losses++
}

// checkCalls checks the calls that have waited for the list, one by one and in their order.
func (s *Session) checkCalls() {
	for {
		var c, checked *call
		listed := false
		s.update(func() {
			if c = s.nextToCheck(); c == nil {
				s.listing.checking = false
				return
			}
			checked, listed = s.newCall(&c.msg), s.listsTool(c)
			checked.mirrors, checked.number, checked.client, checked.trace = c.mirrors, c.number, c.client, c.trace
		})
		if c == nil {
			return
		}
		err := s.inspect(checked)
		if err == nil && listed {
			err = s.fit(checked)
		}
		s.update(func() { s.goOn(c, checked, listed, err) })
	}
}

// goOn sends a call that has waited for the list, as it was checked, or refuses it. The caller holds the lock.
func (s *Session) goOn(c, checked *call, listed bool, err error) {
	if c.state != queued {
		return // it was cancelled or answered meanwhile
	}
	s.reword(c, checked)
	s.classify(c)
	switch {
	case err != nil:
		s.fail(c, &fault.Fault{Code: fault.MessageInvalid, Delivery: fault.Unsent, Detail: err.Error()})
	case c.fitting.refusal != nil:
		if !s.holdRefusal(c) {
			s.fail(c, c.fitting.refusal)
		}
	case !listed && s.isStrict(c):
		s.fail(c, s.unlistedFault(c))
	case s.isBarred(c):
	default:
		s.release()
	}
}

// unlistedFault returns the answer to a call that cannot be checked.
func (s *Session) unlistedFault(c *call) *fault.Fault {
	var needed *upstream.LoginRequired
	switch err := s.listing.failure; {
	case errors.As(err, &needed):
		return &fault.Fault{Code: needed.Loss.Code, Delivery: fault.Unsent, Detail: needed.Loss.Detail, Cause: needed.Loss.Cause()}
	case err != nil:
		return &fault.Fault{Code: fault.ToolsUnlisted, Delivery: fault.Unsent, Detail: err.Error()}
	case s.listing.losses >= maxListLosses:
		return &fault.Fault{Code: fault.ToolsUnlisted, Delivery: fault.Unsent, Detail: "the connection to the server ended each time it was asked for its tools"}
	}
	return &fault.Fault{Code: fault.ToolsUnlisted, Delivery: fault.Unsent, Waited: time.Since(c.arrived),
		Detail: fmt.Sprintf("the server did not answer tools/list within %v", s.Patience)}
}
