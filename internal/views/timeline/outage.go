package timeline

import (
	"strings"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// describeOutage says what happened to the server, and reports whether a person should know about it.
func (o *group) describeOutage(it *Item) (matters bool) {
	restored, fixed, ready := o.since(event.Restored), o.find(event.Healed), o.since(event.Ready)
	end := restored
	if end == nil {
		end = ready
	}
	first := o.firstEnd()
	if end != nil && first != nil {
		it.Took = max(0, end.Time.Sub(first.Time))
	}
	it.Healed = restored != nil || fixed != nil && ready != nil
	it.Problem = o.problem(first)
	var did []string
	add := func(text string) { did = append(did, text) }
	if fixed != nil {
		add("fixed: " + fixed.Detail)
	}
	switch {
	case end == nil && first == nil:
		it.Problem = Sentence(o.events[0].Event())
		return false
	case end == nil:
		it.Kind = first.Kind
		if stuck := o.find(event.GaveUp, event.Opened, event.Refused, event.Waiting); stuck != nil {
			if stuck.Kind != event.Waiting {
				it.Kind = stuck.Kind
			}
			add(o.pending(*stuck, first))
		}
	case first == nil: // a first start, or what is left of an older group
		it.Kind = end.Kind
		it.Problem = Sentence(end.Event())
		return restored != nil
	default:
		it.Kind = end.Kind
		if fixed != nil {
			it.Kind = event.Healed
		}
		add(o.again(it, first, end))
	}
	if o.find(event.ListChanged) != nil {
		add("its tools, prompts or resources changed")
	}
	if o.replayed > 0 {
		add(plaintext.Count(o.replayed, "call") + " replayed")
	}
	it.Action = strings.Join(did, ", ")
	return true
}

// since returns the last event of a kind if it is of the generation that runs now.
func (o *group) since(kind event.Kind) *journal.Record {
	if r := o.find(kind); r != nil && r.Generation > o.died {
		return r
	}
	return nil
}

// firstEnd returns the event with which the trouble began; nil: there was none.
func (o *group) firstEnd() *journal.Record {
	for i, r := range o.events {
		switch r.Kind {
		case event.Hung, event.Died, event.GaveUp, event.Opened, event.Refused, event.Healed:
			return &o.events[i]
		}
	}
	return nil
}

// problem returns what was wrong.
func (o *group) problem(first *journal.Record) string {
	if first == nil {
		return ""
	}
	if r := o.find(event.GaveUp, event.Refused); r != nil {
		if r.Cause != nil && r.Cause.Explanation != "" {
			return clause(r.Cause.Explanation)
		}
		return titled(r.Code, r.Detail)
	}
	return o.ended(*first)
}

// neverReached reports whether a connection to a URL ended before the server answered on it: all of
// it is in this group, and it was not ready.
func (o *group) neverReached(r journal.Record) bool {
	began := false
	for _, e := range o.events {
		switch {
		case e.Generation != r.Generation:
		case e.Kind == event.Started:
			began = true
		case e.Kind == event.Ready, e.Kind == event.Restored:
			return false
		}
	}
	return began && r.PID == 0
}

// ended returns how a server ended.
func (o *group) ended(r journal.Record) string {
	why := strings.TrimPrefix(r.Detail, "it ")
	switch {
	case r.Kind == event.Hung, r.Reason == upstream.ReasonHung:
		return "the server hung" + after(": ", strings.TrimPrefix(r.Detail, stoppedByGauze))
	case r.Kind != event.Died:
		return Sentence(r.Event())
	case r.Reason == upstream.ReasonRestart && strings.HasSuffix(r.Detail, upstream.NewCommand):
		return upstream.NewCommand
	case r.Reason == upstream.ReasonRestart:
		return upstream.UserRestart
	case r.Reason == upstream.ReasonStartFailed:
		return "the server did not start" + after(": ", strings.TrimPrefix(r.Detail, stoppedByGauze))
	case why != r.Detail: // it exited (exit status 1)
		return "the server " + why
	case o.neverReached(r):
		return notReached + after(": ", strings.TrimPrefix(r.Detail, connectionFailed))
	case r.PID == 0:
		return "the connection was lost" + after(": ", strings.TrimPrefix(r.Detail, connectionFailed))
	}
	return "the server exited" + after(": ", r.Detail)
}

// What upstream says about a server that gauze stopped, and about a connection.
const (
	stoppedByGauze   = "gauze stopped it: "
	connectionFailed = "connection failed: "
)

const notReached = "the server could not be reached"

// attempts returns how many starts or connections there were since the trouble began, up to r.
func (o *group) attempts(first, r *journal.Record) int {
	n := r.Generation - first.Generation
	if first.Generation == 0 || n < 0 { // an older version of gauze
		return 0
	}
	if o.neverReached(*first) {
		n++
	}
	return n
}

// again says how the server came back.
func (o *group) again(it *Item, first, end *journal.Record) string {
	verb := "restarted"
	switch {
	case end.PID == 0 && o.neverReached(*first):
		verb = "connected"
	case end.PID == 0:
		verb = "reconnected"
	case end.Kind == event.Ready && end.Generation <= 1:
		verb = "started"
	}
	text := verb + " in " + Duration(it.Took)
	if o.find(event.Died) == nil && o.find(event.Hung) == nil {
		text = verb // since when it was away is not known
	}
	if n := o.attempts(first, end); n > 1 {
		text += " after " + plaintext.Count(n, "attempt")
	}
	if end.Kind == event.Restored {
		text += ", session restored"
	}
	return text
}

// pending says what gauze does about a server that does not run. r is the last event about that.
func (o *group) pending(r journal.Record, first *journal.Record) string {
	failed, next := "", "next attempt in "
	if n := o.attempts(first, &r); n > 1 {
		failed, next = plaintext.Count(n, "attempt")+" failed, ", "next one in "
	}
	switch {
	case r.Kind == event.GaveUp && r.Count > 1:
		return "gave up after " + plaintext.Count(r.Count, "attempt")
	case r.Kind == event.GaveUp:
		return "gave up"
	case o.stopped && failed != "":
		return failed + "then gauze stopped"
	case o.stopped:
		return "gauze stopped before the next attempt"
	case r.Kind == event.Opened:
		return "too many restarts, " + failed + next + Duration(r.Took)
	case r.Took == 0:
		return "gauze will try again at the next request"
	}
	return failed + next + Duration(r.Took)
}

// titled returns the title of a fault, and its detail.
func titled(code fault.Code, detail string) string {
	entry, known := fault.Lookup(string(code))
	if !known {
		return string(code) + after(": ", detail)
	}
	return entry.Title + after(": ", detail)
}
