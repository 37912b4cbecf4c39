package timeline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// callKinds are the kinds of event of a call, the most important first.
var callKinds = []event.Kind{
	event.Unknown, event.TimedOut, event.Quarantined, event.Failed, event.Corrected, event.Replayed, event.Repaired, event.Diagnosed,
	event.Proposed, event.Uncorrected, event.Explained, event.Saved, event.Cancelled,
}

// ofCall reports whether a kind of event is about one call.
func ofCall(kind event.Kind) bool {
	for _, k := range callKinds {
		if k == kind {
			return true
		}
	}
	return false
}

// describeCall says what happened to a call, and reports whether a person should know about it.
func (o *group) describeCall(it *Item) (matters bool) {
	var most *journal.Record
	for _, kind := range callKinds {
		if most = o.find(kind); most != nil {
			break
		}
	}
	if most == nil { // a kind of a newer gauze
		it.Problem = Sentence(o.events[0].Event())
		return false
	}
	it.Kind = most.Kind
	it.Told = o.told()
	if end := o.find(event.Saved, event.Unknown, event.TimedOut, event.Quarantined, event.Failed, event.Cancelled); end != nil {
		it.Took, it.Without = end.Took, end.Without
		it.Healed = end.Kind == event.Saved
	}
	if !it.Healed && !isFault(it.Kind) && o.find(event.Explained, event.Diagnosed, event.Proposed, event.Uncorrected, event.Cancelled) == nil {
		it.Repaired = o.find(event.Repaired, event.Corrected) != nil
	}
	it.Problem = o.callProblem(*most)
	it.Action = strings.Join(o.actions(it.Kind == event.Replayed), "; ")
	switch {
	case it.Kind == event.Cancelled:
		return false
	case most.Method == toolCall || most.Method == "":
		return true
	}
	return isFault(it.Kind) && o.outage == nil
}

// isFault reports whether gauze answered a call with a fault.
func isFault(kind event.Kind) bool {
	switch kind {
	case event.Unknown, event.TimedOut, event.Quarantined, event.Failed:
		return true
	}
	return false
}

// told returns what gauze added to the response, each text once.
func (o *group) told() string {
	var all []string
	seen := map[string]bool{"": true}
	for _, r := range o.events {
		if !seen[r.Told] {
			seen[r.Told] = true
			all = append(all, r.Told)
		}
	}
	return strings.Join(all, "\n\n")
}

// callProblem returns what was wrong with a call. r is its most important event.
func (o *group) callProblem(r journal.Record) string {
	switch r.Kind {
	case event.Cancelled:
		return "the client cancelled the call"
	case event.Unknown, event.TimedOut, event.Quarantined, event.Failed:
		if r.Code == fault.Stopping { // its detail says the same
			return titled(r.Code, "")
		}
		return titled(r.Code, r.Detail)
	case event.Replayed:
		return o.lost(r.Detail == upstream.NeverRead)
	case event.Repaired:
		for _, c := range r.Changes {
			if c.Path == "(tool)" {
				return "the server has no tool with this name"
			}
		}
		return "the arguments did not match the tool's schema"
	case event.Diagnosed:
		if r.Cause != nil {
			return clause(r.Cause.Explanation)
		}
	case event.Saved:
		return "the server was not running"
	}
	if r.Code != "" {
		return titled(r.Code, "")
	}
	return "the server rejected the arguments"
}

// lost returns how a call was lost that was sent again. unread: its server had not read it yet.
func (o *group) lost(unread bool) string {
	when := " during the call"
	switch {
	case unread:
		when = " before it read the call"
	case o.outage == nil:
		return "the server exited or its connection was lost during the call"
	}
	if o.outage == nil {
		return "the server exited" + when
	}
	end := o.outage.find(event.Hung)
	if end == nil {
		end = o.outage.find(event.Died)
	}
	switch {
	case end == nil:
	case end.Kind == event.Hung, end.Reason == upstream.ReasonHung:
		return "the server hung" + when
	case end.Reason == upstream.ReasonSession:
		return "the server no longer recognized the session"
	case o.outage.neverReached(*end):
		return notReached
	case end.PID == 0:
		return "the connection was lost during the call"
	}
	return "the server exited" + when
}

// actions returns what gauze did about a call, in order. lost: the problem says how the call was lost.
func (o *group) actions(lost bool) (did []string) {
	replays := 0
	for _, r := range o.events {
		if r.Kind == event.Replayed {
			replays++
		}
	}
	replayed := "replayed"
	if replays > 1 {
		replayed = fmt.Sprintf("replayed %d times", replays)
	}
	for _, r := range o.events {
		switch r.Kind {
		case event.Repaired:
			did = append(did, "repaired"+after(" ", changed(r)))
		case event.Replayed:
			if lost && r.Detail == upstream.NeverRead {
				r.Detail = ""
			}
			if replayed != "" {
				did = append(did, replayed+after(" because ", r.Detail))
				replayed = ""
			}
		case event.Corrected:
			did = append(did, "corrected by "+model(r)+after(": ", r.Detail))
		case event.Proposed:
			did = append(did, model(r)+" proposed a correction, which was shown to the caller"+after(": ", r.Detail))
		case event.Uncorrected:
			did = append(did, model(r)+" could not correct it"+after(": ", r.Detail))
		case event.Diagnosed:
			if r.Cause != nil {
				did = append(did, "diagnosed: "+r.Cause.Code)
			}
		case event.Explained:
			did = append(did, "told the model what to change")
		case event.Saved:
			if r.Detail == "waited" {
				did = append(did, "held until the server was running again")
			}
		case event.Unknown, event.TimedOut, event.Quarantined, event.Failed:
			did = append(did, "answered with "+string(r.Code))
		}
	}
	return did
}

func model(r journal.Record) string {
	if r.Model == nil {
		return "a model"
	}
	return cmp.Or(r.Model.Model, "a model")
}

// changed returns the places that were repaired and how.
func changed(r journal.Record) string {
	if len(r.Changes) == 0 {
		return r.Detail
	}
	var all []string
	for _, c := range r.Changes {
		all = append(all, c.Path+": "+c.Rule)
	}
	return strings.Join(all, ", ")
}
