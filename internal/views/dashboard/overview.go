package dashboard

import (
	"net/http"
	"slices"

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
	Week    string // the sentence about the last seven days
	Servers []serverRow
	Healed  chart
	Latest  []shownItem

	OnlyHealed bool // Latest has nothing that was not healed
}

// serverRow is a server that runs.
type serverRow struct {
	live.Server
	Link   string
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
	records, err := d.events(r.Context())
	if err != nil {
		return "", nil, err
	}
	sums, err := d.records.sums(r.Context(), d.now())
	if err != nil {
		return "", nil, err
	}
	o.Week = week(sums, servers)
	o.Healed = healedPerMinute(records, d.now())
	for _, s := range servers {
		o.Servers = append(o.Servers, serverRow{s, d.serverLink(s.ID, ""), healedPerMinute(ofWrap(records, s), d.now())})
	}
	latest := newestFirst(items)
	if helped := slices.DeleteFunc(slices.Clone(latest), func(it timeline.Item) bool { return !it.Helped() }); len(helped) > 0 {
		latest, o.OnlyHealed = helped, true
	}
	o.Latest, _ = d.shown(latest, maxLatest)
	return "Overview", o, nil
}
