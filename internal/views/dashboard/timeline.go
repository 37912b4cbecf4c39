package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

var timelinePages = []page{
	{path: "/timeline", nav: "timeline", template: "timeline", load: timelinePage},
	{path: "/timeline/{id}", nav: "timeline", template: "call", load: itemPage},
}

// pageItems is how many items a page of the timeline shows.
const pageItems = 50

// periods are the choices of the filter.
var periods = []struct {
	Value, Name string
	length      time.Duration
}{
	{"hour", "Last hour", time.Hour},
	{"day", "Last 24 hours", 24 * time.Hour},
	{"week", "Last 7 days", timeline.Week},
	{"", "All", 0},
}

// filter is what the timeline is limited to. Fields that are empty choose all.
type filter struct {
	Server, Client, Tool, Period string
	Healed                       bool
	before                       int // chooses items that ended before the event of this number
}

func filterOf(r *http.Request) filter {
	q := r.URL.Query()
	before, _ := strconv.Atoi(q.Get("before"))
	return filter{q.Get("server"), q.Get("client"), q.Get("tool"), q.Get("period"), q.Get("healed") != "", before}
}

// query returns f as the query of a URL.
func (f filter) query(before string) string {
	q := url.Values{}
	for name, value := range map[string]string{"server": f.Server, "client": f.Client, "tool": f.Tool, "period": f.Period, "before": before} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Healed {
		q.Set("healed", "1")
	}
	return q.Encode()
}

// chooses reports whether f chooses an item, apart from before.
func (f filter) chooses(it timeline.Item, now time.Time) bool {
	for _, p := range periods {
		if p.Value == f.Period && p.length > 0 && now.Sub(it.Time) > p.length {
			return false
		}
	}
	return (f.Server == "" || f.Server == it.Server) && (f.Client == "" || f.Client == it.Client) &&
		(f.Tool == "" || f.Tool == it.Tool) && (!f.Healed || it.Helped())
}

// timelineData is what the timeline shows.
type timelineData struct {
	Filter                  filter
	Servers, Clients, Tools []string // choices of the filter
	Periods                 any
	Week                    string
	Total                   int // the number of items that the filter chooses
	Items                   []shownItem
	Older, Newest           string // links; empty: there are none
	Recorded                bool   // there are items, whether the filter chooses them or not
	Cut                     bool   // older events exist that are not shown
}

func timelinePage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	servers, err := d.servers(r.Context())
	if err != nil {
		return "", nil, err
	}
	items, err := d.records.timeline(r.Context())
	if err != nil {
		return "", nil, err
	}
	week, err := d.records.worth(r.Context(), d.now())
	if err != nil {
		return "", nil, err
	}
	f := filterOf(r)
	page := timelineData{Filter: f, Periods: periods, Week: week.sentence(servers), Recorded: len(items) > 0, Cut: d.records.isCut()}
	page.Servers = choices(items, f.Server, func(it timeline.Item) string { return it.Server })
	page.Clients = choices(items, f.Client, func(it timeline.Item) string { return it.Client })
	page.Tools = choices(items, f.Tool, func(it timeline.Item) string { return it.Tool })
	items = newestFirst(slices.DeleteFunc(slices.Clone(items), func(it timeline.Item) bool { return !f.chooses(it, d.now()) }))
	page.Total = len(items)
	if f.before > 0 {
		items = slices.DeleteFunc(items, func(it timeline.Item) bool { return number(it) >= f.before })
		page.Newest = d.Prefix + "/timeline?" + f.query("")
	}
	var more bool
	if page.Items, more = d.shown(items, pageItems); more {
		page.Older = d.Prefix + "/timeline?" + f.query(strconv.Itoa(number(page.Items[pageItems-1].Item)))
	}
	return "Timeline", page, nil
}

// choices returns the values of a field, and the one that is chosen.
func choices(items []timeline.Item, chosen string, field func(timeline.Item) string) []string {
	all := map[string]bool{chosen: true}
	for _, it := range items {
		all[field(it)] = true
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

// shownItem is an item with its links.
type shownItem struct {
	timeline.Item
	Link, ServerLink string
	Before           []shownItem // the times before, if it repeats itself
}

// What is the problem as the start of a sentence.
func (it shownItem) What() string {
	if it.Tool != "" {
		return it.Problem
	}
	return plaintext.UpperFirst(it.Problem)
}

// shown returns the first items with their links, and whether there are more.
func (d *Dashboard) shown(items []timeline.Item, limit int) (all []shownItem, more bool) {
	for _, it := range items[:min(limit, len(items))] {
		before, _ := d.shown(it.Earlier, len(it.Earlier))
		all = append(all, shownItem{it, d.itemLink(it.ID), d.serverLink("", it.Server), before})
	}
	return all, len(items) > limit
}

func (d *Dashboard) itemLink(id string) string { return d.Prefix + "/timeline/" + url.PathEscape(id) }

// newestFirst returns the items as a page lists them: in this order, and what repeats itself once.
func newestFirst(items []timeline.Item) []timeline.Item {
	items = timeline.Fold(items)
	slices.Reverse(items)
	return items
}

// number is the number of an item's last event.
func number(it timeline.Item) int { return it.Events[len(it.Events)-1].Seq }

// Last is when an item that happened several times in a row last did, such as "14:02".
func (it shownItem) Last() string {
	at, layout := it.Time.Local(), "15:04"
	if time.Since(at) > 12*time.Hour {
		layout = "2 Jan 15:04"
	}
	return at.Format(layout)
}

// Rest is how many times are not in Before.
func (it shownItem) Rest() int { return it.Times - 1 - len(it.Before) }

// ofWrap returns the events of a wrap.
func ofWrap(records []journal.Record, s live.Server) (own []journal.Record) {
	for _, r := range records {
		if r.Gauze == s.PID && r.Server == s.Name {
			own = append(own, r)
		}
	}
	return own
}

// ofServer returns the items of one server.
func ofServer(items []timeline.Item, name string) []timeline.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it timeline.Item) bool { return it.Server != name })
}

// itemData is what the page of an item shows.
type itemData struct {
	shownItem
	Live *live.Call // what the running wrap remembers about the call, with values; nil: nothing
}

// Duration is how long it took with gauze; 0: that is not known.
func (page *itemData) Duration() time.Duration {
	if page.Took == 0 && page.Live != nil {
		return page.Live.Took
	}
	return page.Took
}

// itemPage shows the item that contains the event of a number. Later events may belong to it.
func itemPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	records, err := d.events(r.Context())
	if err != nil {
		return "", nil, err
	}
	id, err := strconv.Atoi(r.PathValue("id"))
	at := slices.IndexFunc(records, func(one journal.Record) bool { return one.Seq == id })
	if err != nil || at < 0 {
		return "", nil, &problem{Status: http.StatusNotFound, What: "This event was not recorded, or has expired: events are kept for 30 days."}
	}
	for _, it := range timeline.All(records) {
		if !slices.ContainsFunc(it.Events, func(one journal.Record) bool { return one.Seq == id }) {
			continue
		}
		one, _ := d.shown([]timeline.Item{it}, 1)
		page := &itemData{shownItem: one[0]}
		page.remember(d, r, records[at].Gauze)
		return cmp.Or(it.Tool, it.Server, "Event"), page, nil
	}
	return "", nil, &problem{Status: http.StatusNotFound, What: "This event is not part of the timeline."}
}

// remember adds what the wrap, if it still runs, knows about the call. Only it knows values.
func (page *itemData) remember(d *Dashboard, r *http.Request, process int) {
	if page.Call == "" {
		return
	}
	servers, err := d.servers(r.Context())
	if err != nil {
		return
	}
	for _, s := range servers {
		if s.PID != process {
			continue
		}
		detail, err := live.One(r.Context(), d.Dir, s.ID)
		if err != nil {
			continue
		}
		for _, c := range detail.Recent {
			if c.ID == page.Call {
				page.Live = &c
				if len(c.Changes) > 0 {
					page.Changes = c.Changes
				}
				page.Told = cmp.Or(page.Told, c.Told)
				return
			}
		}
	}
}
