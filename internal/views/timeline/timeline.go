// Package timeline turns recorded events into what a person reads: one item for each call that gauze
// did something about and for each thing that happened to a server, and the sums of a period. It is
// pure. gauze history, gauze status, gauze top and the dashboard all show its items and its sums, so
// they agree.
//
//	timeline.go  Item, and which events belong to one item
//	outage.go    the item of a server that ended, hung or did not start, and how it came back
//	call.go      the item of a call
//	fold.go      Fold: what repeats itself is one item
//	words.go     Sentence and Duration: the words for one event
//	sums.go      Sums: what was healed in a period
//	week.go      Weekly: the sums of the last seven days, as a journal grows
package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Item is one thing on the line of time. Texts come from recorded events, which are cleaned and
// redacted, and are still foreign: HTML must escape them.
type Item struct {
	ID     string     // the number of its first event. It stays the same while events are added.
	Time   time.Time  // when it ended
	Kind   event.Kind // that of its most important event
	Client string
	Server string
	Tool   string // what was called, or the method of a different request; empty: it is about the server itself
	Call   string // the id of the call, if there is one

	Healed   bool   // something works that would have failed
	Repaired bool   // gauze changed a call, and it is not known whether it would have failed
	Problem  string // what was wrong, in lower case and without a full stop
	Action   string // what gauze did, in the same form; empty: nothing

	Changes []event.Change
	Told    string
	Model   *journal.Question
	Cause   *journal.Cause
	Took    time.Duration // how long the call took, or how long the server was away; 0: that is not known
	Without time.Duration // after what time the call would have failed without gauze; 0: that is not known

	Events []journal.Record // what it is made of, in order

	Times   int    // how often it happened, if Fold made it; Events are those of the last time
	Earlier []Item // the times before that, newest first; at most maxEarlier
}

// Helped reports whether gauze made something work, or may have: whether its events count in Sums.
func (it Item) Helped() bool { return it.Healed || it.Repaired }

// Sentence returns the item in one line, such as "the server exited (exit
// status 1); restarted in 1.2 s".
func (it Item) Sentence() string {
	text := it.Problem + after("; ", it.Action)
	if it.Tool != "" && (it.Call != "" || ofCall(it.Kind)) {
		return it.Tool + ": " + text
	}
	return text
}

// Items returns what a person should know, in the order in which it ended. records are in the order
// of the journal. What worked without gauze's help is left out: starts and stops, changes of state,
// cancelled calls, messages that are not for the client.
func Items(records []journal.Record) []Item { return items(records, false) }

// All is Items with everything that was recorded: no event is in none of them.
func All(records []journal.Record) []Item { return items(records, true) }

func items(records []journal.Record, all bool) (items []Item) {
	g := grouping{calls: map[string]*group{}, servers: map[server]*past{}}
	for _, r := range records {
		g.add(r)
	}
	for _, group := range g.groups {
		it, matters := group.item()
		if matters || all {
			items = append(items, it)
		}
	}
	sorting.Stable(items, func(a, b Item) int { return a.last().Seq - b.last().Seq })
	return items
}

func (it Item) last() journal.Record { return it.Events[len(it.Events)-1] }

// group is the events of one item.
type group struct {
	events []journal.Record
	client string // the last name of the client
	call   bool   // the events are of one call
	alone  bool   // the event belongs to nothing

	// Of a server.
	died     int    // the last generation that ended
	started  int    // the last generation that was started
	over     bool   // the server runs again
	stopped  bool   // gauze stopped before it did
	replayed int    // calls that were sent again after it
	outage   *group // for a call, why it failed or was sent again
}

// server is one server in one gauze process.
type server struct {
	gauze int
	name  string
}

// past is what happened to a server so far.
type past struct {
	outages  []*group // those that may continue, oldest first
	stopping int
}

// stop notes that gauze has stopped: nothing that lasts is tried again.
func (p *past) stop(r journal.Record) {
	p.stopping = max(0, p.stopping-1)
	for _, o := range p.outages {
		o.stopped = o.stopped || o.sameClient(r)
	}
}

// grouping finds the events that belong together.
type grouping struct {
	groups  []*group
	calls   map[string]*group
	servers map[server]*past
}

func (g *grouping) new(r journal.Record) *group {
	created := &group{}
	created.append(r)
	g.groups = append(g.groups, created)
	return created
}

func (o *group) append(r journal.Record) {
	o.events = append(o.events, r)
	if r.Client != "" {
		o.client = r.Client
	}
}

func (g *grouping) add(r journal.Record) {
	key := server{r.Gauze, r.Server}
	p := g.servers[key]
	if p == nil {
		p = &past{}
		g.servers[key] = p
	}
	switch {
	case r.Call != "" || ofCall(r.Kind):
		g.addCall(r, p)
	case r.Kind == event.Stopping:
		p.stopping++
		g.new(r).alone = true
	case r.Kind == event.Stopped:
		p.stop(r)
		g.new(r).alone = true
	case r.Kind == event.Died && (r.Reason == upstream.ReasonStopped || r.Reason == upstream.ReasonIdle || r.Reason == "" && p.stopping > 0):
		g.new(r).alone = true // as intended
	default:
		g.addServer(r, p)
	}
}

// toolCall is the method of the requests that are called calls. The others are a consequence of what
// happened to the server.
const toolCall = "tools/call"

func (g *grouping) addCall(r journal.Record, p *past) {
	c := g.calls[r.Call]
	if c == nil || r.Call == "" { // older versions of gauze did not record it
		c = g.new(r)
		c.call = true
		g.calls[r.Call] = c
	} else {
		c.append(r)
	}
	for _, o := range slices.Backward(p.outages) {
		// A call is sent to a server at a URL before that is known to run again.
		again := o.over || r.Generation > 0 && r.Generation == o.started
		switch {
		case !o.sameClient(r):
		case r.Kind == event.Failed && !o.over:
			c.outage = o
			return
		case r.Kind == event.Replayed && again && (r.Generation == 0 || r.Generation > o.died):
			c.outage = o
			if r.Method == toolCall {
				o.replayed++
			}
			return
		}
	}
}

// maxOutages is how many outages of a server may continue at the same time: gauze serve has a
// process of the server for each client.
const maxOutages = 64

func (g *grouping) addServer(r journal.Record, p *past) {
	for _, o := range slices.Backward(p.outages) {
		if o.sameClient(r) && o.continues(r) {
			o.append(r)
			o.note(r)
			return
		}
	}
	created := g.new(r)
	if !begins(r.Kind) {
		created.alone = true
		return
	}
	created.note(r)
	p.outages = append(p.outages, created)
	p.outages = p.outages[max(0, len(p.outages)-maxOutages):]
}

// begins reports whether an event can be the first one of a group about a server.
func begins(kind event.Kind) bool {
	switch kind {
	case event.Started, event.Ready, event.Restored, event.Died, event.Hung, event.Opened, event.GaveUp, event.Refused, event.Healed:
		return true
	}
	return false
}

// continues reports whether an event of the same server and client belongs to the group.
func (o *group) continues(r journal.Record) bool {
	if o.over { // being ready alone does not show that the server works
		return r.Kind == event.Died && r.Reason == upstream.ReasonStartFailed && r.Generation == o.started
	}
	switch r.Kind {
	case event.Started:
		return r.Generation > max(o.started, o.died)
	case event.Ready, event.Restored:
		return r.Generation == o.started || o.started == 0
	case event.Hung:
		return false // it was running
	case event.Died:
		return r.Generation > o.died && (o.started == 0 || r.Generation == o.started)
	case event.Waiting, event.Opened, event.GaveUp, event.Refused, event.Treating, event.Healed, event.ListChanged:
		return true
	}
	return false
}

func (o *group) note(r journal.Record) {
	switch r.Kind {
	case event.Started:
		o.started, o.stopped = r.Generation, false
	case event.Died:
		o.died, o.over = r.Generation, false
	case event.Ready:
		o.started, o.over = r.Generation, true
	}
}

// sameClient reports whether r may be of the same client. One that has not introduced itself yet has
// no name.
func (o *group) sameClient(r journal.Record) bool {
	return o.client == "" || r.Client == "" || o.client == r.Client
}

// find returns the last event of one of the kinds, and nil if there is none.
func (o *group) find(kinds ...event.Kind) *journal.Record {
	for i := len(o.events) - 1; i >= 0; i-- {
		if slices.Contains(kinds, o.events[i].Kind) {
			return &o.events[i]
		}
	}
	return nil
}

// item returns the group as an item, and whether a person should know about it.
func (o *group) item() (it Item, matters bool) {
	first, last := o.events[0], o.events[len(o.events)-1]
	it = Item{ID: strconv.Itoa(first.Seq), Time: last.Time, Kind: first.Kind, Client: o.client, Server: first.Server, Call: first.Call, Events: o.events}
	for _, r := range o.events {
		it.Tool = cmp.Or(it.Tool, r.Tool)
		if r.Cause != nil {
			it.Cause = r.Cause
		}
		if r.Model != nil {
			it.Model = r.Model
		}
		if len(r.Changes) > 0 {
			it.Changes = r.Changes
		}
	}
	switch {
	case o.alone:
		it.Problem = Sentence(first.Event())
		switch first.Kind {
		case event.LoginRenewed:
			it.Healed, it.Problem, it.Action = true, "the access token expired", "renewed the login"
			return it, true
		case journal.Unrecorded, event.Judged, event.LoginEnded, event.LoginUnsaved, event.LoginNeeded:
			return it, true
		}
		return it, false
	case o.call:
		it.Tool = cmp.Or(it.Tool, first.Method)
		return it, o.describeCall(&it)
	}
	return it, o.describeOutage(&it)
}
