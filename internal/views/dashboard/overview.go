package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

var overviewPages = []page{
	{path: "/{$}", nav: "overview", template: "overview", load: overview},
}

// maxLatest is how many items the overview shows.
const maxLatest = 8

// overviewData is what the overview shows.
type overviewData struct {
	Week    string        // the sentence about the last seven days
	Cost    string        // what gauze could not save; empty: nothing
	Files   []live.Server // one of each gauze up, for its file
	Servers []serverRow
	Others  *serverRow // servers that are not running and have a part in the week; nil: none
	Healed  chart
	Latest  []shownItem

	OnlyHealed bool // Latest has nothing that was not healed
}

// serverRow is a server that runs.
type serverRow struct {
	live.Server
	Link   string
	Why    string // why it does not work, as a sentence; empty: it works, or nothing is known
	Remedy string
	Sums   timeline.Sums // of the last seven days
	Healed chart
}

func overview(d *Dashboard, r *http.Request) (title string, data any, err error) {
	o := overviewData{}
	servers, err := d.servers(r.Context())
	if err != nil {
		return "", nil, err
	}
	// Wraps have recorded what they say, so the journal is read after they were asked.
	items, err := d.records.timeline(r.Context())
	if err != nil {
		return "", nil, err
	}
	now := d.now()
	week, err := d.records.worth(r.Context(), now)
	if err != nil {
		return "", nil, err
	}
	o.Week, o.Cost = week.sentence(servers), week.cost()
	o.Healed = chartOf(week.healed, now)
	o.Files = live.OfFiles(servers)
	for _, s := range servers {
		o.Servers = append(o.Servers, d.row(s, week.ofWrap(s), items, o.Healed.scale, now))
	}
	slices.SortStableFunc(o.Servers, func(a, b serverRow) int { return cmp.Compare(urgency(a.State), urgency(b.State)) })
	if others := week.ofOthers(servers); len(others) > 0 {
		o.Others = &serverRow{Server: live.Server{Name: names(others)}, Sums: timeline.Sum(others), Healed: o.Healed.draw(others, now)}
	}
	latest := newestFirst(items)
	if helped := slices.DeleteFunc(slices.Clone(latest), func(it timeline.Item) bool { return !it.Helped() }); len(helped) > 0 {
		latest, o.OnlyHealed = helped, true
	}
	o.Latest, _ = d.shown(latest, maxLatest)
	return "Overview", o, nil
}

// row returns the row of a wrap, whose part in the week is own. Its chart has the scale of the large one.
func (d *Dashboard) row(s live.Server, own []journal.Record, items []timeline.Item, scale scale, now time.Time) serverRow {
	row := serverRow{Server: s, Link: d.serverLink(s.ID, ""), Sums: timeline.Sum(own), Healed: scale.draw(own, now)}
	if urgency(s.State) > 1 {
		return row
	}
	row.Why = s.LastCause
	for _, it := range slices.Backward(items) {
		if it.Server == s.Name && it.Events[0].Gauze == s.PID && it.Cause != nil && isDeath(it) {
			row.Why, row.Remedy = it.Cause.Explanation, it.Cause.Remedy
			break
		}
	}
	row.Why = plaintext.UpperFirst(cmp.Or(row.Why, s.LastReason))
	return row
}

// urgency orders servers: those that do not work come first.
func urgency(state string) int {
	switch state {
	case health.Dead.String():
		return 0
	case health.Unresponsive.String(), live.StateSilent:
		return 1
	case health.Healthy.String(), live.StateAsleep:
		return 3
	}
	return 2
}

// isDeath reports whether an item is about the end of a server's process or connection.
func isDeath(it timeline.Item) bool {
	return slices.ContainsFunc(it.Events, func(r journal.Record) bool {
		return r.Kind == event.Died || r.Kind == event.Hung || r.Kind == event.GaveUp
	}) && it.Tool == ""
}
