package top

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// entry is one row of the calls: a call that a running wrap remembers, a recorded item, or both.
type entry struct {
	key    string
	server string
	wrap   string         // the id of the wrap; empty: only the journal has the call
	call   *live.Call     // nil if only the journal has it
	item   *timeline.Item // nil if nothing is recorded about the call
}

// entries joins the calls of wraps with what is recorded about the same servers, newest first.
func entries(details []live.Detail, items []timeline.Item, servers []live.Server) []entry {
	type id struct{ server, call string }
	recorded := map[id]*timeline.Item{}
	for i := range items {
		recorded[id{items[i].Server, items[i].Call}] = &items[i]
	}
	var all []entry
	shown := map[*timeline.Item]bool{}
	for _, d := range details {
		for _, c := range d.Recent {
			e := entry{key: "call " + c.ID, server: d.Server.Name, wrap: d.Server.ID, call: &c, item: recorded[id{d.Server.Name, c.ID}]}
			all = append(all, e)
			shown[e.item] = true
		}
	}
	names := map[string]bool{}
	for _, s := range servers {
		names[s.Name] = true
	}
	for i := range items {
		it := &items[i]
		if shown[it] || !names[it.Server] {
			continue
		}
		e := entry{key: "item " + it.ID, server: it.Server, item: it}
		if it.Call != "" {
			e.key = "call " + it.Call
		}
		all = append(all, e)
	}
	sorting.Stable(all, func(a, b entry) int { return b.time().Compare(a.time()) })
	return all
}

func (e entry) time() time.Time {
	if e.call != nil {
		return e.call.Time
	}
	return e.item.Time
}

// tool is empty for what happened to the server itself.
func (e entry) tool() string {
	if e.call != nil {
		return e.call.Tool
	}
	return e.item.Tool
}

func (e entry) client() string {
	if e.call != nil {
		return e.call.Client
	}
	return e.item.Client
}

func (e entry) took() (with, without time.Duration) {
	if e.call != nil {
		return e.call.Took, e.call.Without
	}
	return e.item.Took, e.item.Without
}

// healed says how gauze saved the call or the server; empty: it did not.
func (e entry) healed() string {
	switch {
	case e.call != nil:
		return e.call.Healed
	case !e.item.Healed:
		return ""
	}
	for _, r := range slices.Backward(e.item.Events) {
		if r.Kind == event.Saved {
			return r.Detail
		}
	}
	return "restarted"
}

// outcome is how the call ended, as far as that is known.
func (e entry) outcome() string {
	switch {
	case e.call != nil:
		return e.call.Outcome
	case e.item.Tool == "":
		return ""
	case e.item.Healed:
		return "ok"
	}
	for _, r := range slices.Backward(e.item.Events) {
		if r.Code != "" {
			return string(r.Code)
		}
	}
	return ""
}

func (e entry) changes() []event.Change {
	if e.call != nil && len(e.call.Changes) > 0 {
		return e.call.Changes // with values, which are usually not recorded
	}
	if e.item != nil {
		return e.item.Changes
	}
	return nil
}

func (e entry) told() string {
	if e.call != nil && e.call.Told != "" {
		return e.call.Told
	}
	if e.item != nil {
		return e.item.Told
	}
	return ""
}

// did is what happened in a few words; empty: nothing worth mentioning.
func (e entry) did() string {
	if e.item == nil { // nothing is recorded, or not yet
		var repaired []string
		for _, c := range e.call.Changes {
			repaired = append(repaired, c.Path+": "+c.Rule)
		}
		return strings.Join(repaired, ", ")
	}
	if e.item.Tool == "" {
		return e.item.Sentence()
	}
	return cmp.Or(e.item.Action, e.item.Problem)
}

// code returns the code of the cause or of the fault that gauze explain describes; empty: none.
func (e entry) code() string {
	if e.item != nil && e.item.Cause != nil && explainable(e.item.Cause.Code) {
		return e.item.Cause.Code
	}
	if e.call != nil && explainable(e.call.Outcome) {
		return e.call.Outcome
	}
	if e.item != nil {
		for _, r := range slices.Backward(e.item.Events) {
			if explainable(string(r.Code)) {
				return string(r.Code)
			}
		}
	}
	return ""
}

func explainable(code string) bool {
	_, ok := fleet.Explain(code)
	return ok
}

// shownEntries returns the calls that are shown.
func (m *model) shownEntries() []entry {
	all := entries(m.details, m.items, m.scope())
	return slices.DeleteFunc(all, func(e entry) bool {
		return !m.matches(onCalls, e.server, e.client(), e.tool(), e.outcome(), e.healed(), e.did())
	})
}

// selectedEntry returns the selected call.
func (m *model) selectedEntry() (entry, bool) {
	if m.screen == onCall && m.opened != nil {
		return *m.opened, true
	}
	all := m.shownEntries()
	if at := m.callAt(all); at >= 0 {
		return all[at], true
	}
	return entry{}, false
}

// reopen replaces the call on the screen by what is known about it now. A call that its wrap has
// forgotten, or whose wrap has ended, is shown as it was.
func (m *model) reopen() {
	if m.opened == nil {
		return
	}
	for _, e := range entries(m.details, m.items, m.current().servers) {
		if e.key == m.opened.key && (e.call != nil || m.opened.call == nil) {
			m.opened = &e
		}
	}
}
