package kernel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// A call is checked against its tool's schema, and what the tool declares says whether it may be
// repeated. A client that never listed the tools (a script, curl, a client with a cache) gets the same:
// gauze lists them before the first call, and again once the server has announced other tools. The call
// waits in the queue, where nothing overtakes it, and is sent unchecked if the list does not come soon.
// What --repair strict checks is never sent unchecked: it waits longer, and is then refused.

// listing is how calls wait for the list of the tools.
type listing struct {
	s        *Session
	asking   bool      // the tools are being listed in the background
	waiting  int       // calls in the queue
	since    time.Time // when the first of them could have been sent; zero: none could
	losses   int       // connections that ended while they waited
	failure  error     // why the tools were not listed; nil: it is not known that they will not be
	checking bool      // a goroutine checks the calls that have waited
	clients  *Call     // a request of the client that lists the tools; nil: none was seen
}

// maxListLosses is how many connections may end while calls wait: tools/list may be what ends them.
const maxListLosses = 2

// awaitsList reports whether a new call waits until the tools are listed.
func (l *listing) awaitsList(c *Call) bool {
	if c.tool == "" || l.listsTool(c) {
		return false
	}
	strict := l.isStrict(c)
	if strict && (l.s.catalog.listed || !l.asking) {
		l.reset() // the tools have changed, or are asked for again
	}
	return strict || !l.hasWaited(c)
}

// change notes that the server announced different tools. Calls wait for their list, but not again while
// it does not come.
func (l *listing) change() {
	if !l.s.catalog.stale {
		l.reset()
	}
	l.s.catalog.change(l.s.order.sends)
}

// reset lets the next call wait for the list, if no other waits already.
func (l *listing) reset() {
	if l.waiting == 0 { // s stays: it is read without the lock
		l.since, l.losses, l.failure, l.clients = time.Time{}, 0, nil, nil
	}
}

// again makes a queued call wait that was judged by what a server listed which is no longer there. It matters only if the
// live server has not listed its tools yet.
func (l *listing) again(c *Call) {
	if l.s.config.Sure && c.own == nil && c.state == queued && !c.awaitsList && c.past.deaths == 0 && l.awaitsList(c) {
		c.awaitsList = true
		l.waiting++
	}
}

// listsTool reports whether the list says what there is to know about the tool of a call. Of a server that is not there, it is
// not known which one comes next.
func (l *listing) listsTool(c *Call) bool {
	_, known := l.s.catalog.tools[c.tool]
	return (known || l.s.catalog.listed) && !l.s.catalog.stale && !(l.s.config.Sure && (l.s.catalog.remembered || l.s.link.conn == nil))
}

// isStrict reports whether a call must not be sent unchecked.
func (l *listing) isStrict(c *Call) bool {
	return l.s.config.Sure || l.s.policy(c.tool).Strict
}

// hasWaited reports whether a call does not wait for the list any longer.
func (l *listing) hasWaited(c *Call) bool {
	strict := l.isStrict(c)
	limit := l.s.config.Timing.ListWait
	if strict {
		limit = l.s.config.Timing.Patience
	}
	switch {
	case l.failure != nil, l.losses >= maxListLosses:
		return true
	case !strict && !l.s.memory.known() && !c.modern && !l.isOpening():
		return true // without a session, the server cannot be asked
	}
	return !l.since.IsZero() && time.Since(l.since) >= limit
}

// isOpening reports whether initialize is not answered yet.
func (l *listing) isOpening() bool {
	if l.s.memory.known() {
		return false
	}
	for c := range l.s.table.calls.all() {
		if c.class == Start {
			return true
		}
	}
	return false
}

// isStarting reports whether the server has not read anything yet. How long that may take is up to
// others; a quarter of that is enough for the list.
func (l *listing) isStarting() bool {
	return l.s.link.conn.Starting() && time.Since(l.s.link.conn.Started) < l.s.up.StartPatience()/4
}

// listForCalls lists the tools for the calls that wait for that, and begins to check those that have
// waited. It is called after every change while calls wait. The caller holds the lock.
func (l *listing) listForCalls() {
	switch {
	case l.s.link.conn == nil || l.checking:
	case l.nextToCheck() != nil:
		l.checking = true
		l.s.work.background.Go(l.checkCalls)
	case !l.isOpening():
		if l.since.IsZero() && !l.isStarting() {
			l.since = time.Now()
			time.AfterFunc(l.s.config.Timing.ListWait, func() { l.s.update(func() {}) })
		}
		if first := l.s.table.queue[slices.IndexFunc(l.s.table.queue, (*Call).waitsForList)]; !l.asking && !l.clientLists(first) {
			l.s.restorer.askToolsAs(l.s.link.conn, l.memoryFor(first))
		}
	}
}

func (c *Call) waitsForList() bool { return c.awaitsList }

// nextToCheck returns the first call that has waited for the list; nil: there is none. On a pipe, all
// others wait for the first. Many calls may wait, so calls of the same tool are judged together.
func (l *listing) nextToCheck() *Call {
	var waits *Call
	for _, c := range l.s.table.queue {
		switch {
		case !c.awaitsList || waits != nil && waits.tool == c.tool && waits.modern == c.modern:
		case l.listsTool(c) || l.hasWaited(c):
			return c
		case l.s.link.conn != nil && !l.s.link.conn.Remote():
			return nil
		default:
			waits = c
		}
	}
	return nil
}

// clientLists reports whether the client itself is listing the tools, and began to before a call.
func (l *listing) clientLists(before *Call) bool {
	lists := func(c *Call) bool { return c.msg.Method == "tools/list" && c.seq < before.seq }
	if l.clients != nil && l.clients.state != done && lists(l.clients) {
		return true
	}
	for c := range l.s.table.calls.all() {
		if lists(c) {
			l.clients = c
			return true
		}
	}
	return false
}

// memoryFor returns how the tools are listed for a call: as in the session, or as the call itself says
// if it is the first request of a modern client.
func (l *listing) memoryFor(c *Call) memory {
	if l.s.memory.known() || !c.modern {
		return l.s.memory
	}
	meta, _ := wire.Field(c.msg.Params, "_meta")
	return memory{modern: true, meta: withoutToken(meta)}
}

// disconnect notes that a connection ended. Calls that wait begin again on the next one.
func (l *listing) disconnect() {
	if l.waiting == 0 || l.since.IsZero() {
		return
	}
	l.since = time.Time{}
	l.losses++
}

// checkCalls checks the calls that have waited for the list, one by one and in their order.
func (l *listing) checkCalls() {
	for {
		var c, checked *Call
		listed := false
		l.s.update(func() {
			if c = l.nextToCheck(); c == nil {
				l.s.listing.checking = false
				return
			}
			c.part.shared = true // it must not become another call while it is checked without the lock
			checked, listed = l.s.newCall(&c.msg), l.listsTool(c)
			checked.mirrors, checked.number, checked.client, checked.part.slots, checked.began = c.mirrors, c.number, c.client, c.part.slots, c.began
		})
		if c == nil {
			return
		}
		ruling, err := Pass, l.s.client.inspect(checked)
		if err == nil && listed {
			ruling, err = l.s.panel.recheck(checked)
		}
		l.s.update(func() { l.goOn(c, checked, listed, &ruling, err) })
		ruling.drop()
	}
}

// goOn sends a call that has waited for the list, as it was checked, or refuses it. The caller holds the lock.
func (l *listing) goOn(c, checked *Call, listed bool, ruling *Ruling, err error) {
	if c.state != queued || !c.awaitsList {
		return // it was cancelled or answered meanwhile, or was held and has waited long enough
	}
	l.s.table.reword(c, checked)
	l.s.client.classify(c)
	switch {
	case err != nil:
		l.s.fail(c, &fault.Fault{Code: fault.MessageInvalid, Delivery: fault.Unsent, Detail: err.Error()})
	case ruling.refusal != nil:
		l.s.client.refuseAs(c, ruling)
	case !listed && l.isStrict(c):
		l.s.fail(c, l.unlistedFault(c))
	case l.s.client.isBarred(c):
	default:
		l.s.release()
	}
}

// unlistedFault returns the answer to a call that cannot be checked.
func (l *listing) unlistedFault(c *Call) *fault.Fault {
	var needed *upstream.LoginRequired
	switch err := l.s.listing.failure; {
	case errors.As(err, &needed):
		return &fault.Fault{Code: needed.Loss.Code, Delivery: fault.Unsent, Detail: needed.Loss.Detail, Cause: needed.Loss.Cause()}
	case err != nil:
		return &fault.Fault{Code: fault.ToolsUnlisted, Delivery: fault.Unsent, Detail: err.Error()}
	case l.s.listing.losses >= maxListLosses:
		return &fault.Fault{Code: fault.ToolsUnlisted, Delivery: fault.Unsent, Detail: "the connection to the server was lost each time gauze tried to list its tools"}
	}
	return &fault.Fault{Code: fault.ToolsUnlisted, Delivery: fault.Unsent, Waited: time.Since(c.arrived),
		Detail: fmt.Sprintf("the server did not answer tools/list within %v", l.s.config.Timing.Patience)}
}
