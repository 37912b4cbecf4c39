package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

var serverPages = []page{
	{path: "/servers/{id}", nav: "overview", template: "server", load: serverPage},
	{path: "/servers", nav: "overview", template: "server", load: endedPage},
}

var serverActions = []action{
	{path: "/servers/{id}/restart", do: restartServer},
	{path: "/servers/{id}/reload", do: reloadFile},
}

const (
	maxServerItems = 12
	maxHealth      = 12
	maxShownCalls  = 20
)

// serverData is what the page of a server shows.
type serverData struct {
	Running bool // Detail is what the wrap said just now. Otherwise only Name is known.
	live.Detail
	Others   []serverRow      // wraps that run a server of this name, on the page of the name
	Calls    []shownCall      // has the newest first
	Health   []journal.Record // changes of the state, newest first
	Death    *shownItem       // the last exit, hang or lost connection
	Healed   chart
	Items    []shownItem
	More     bool
	Timeline string // the link to all items
	LogLink  string
}

// shownCall is a recent call of a server that runs.
type shownCall struct {
	live.Call
	Link string // its page; empty: nothing is recorded about it
}

// serverLink is the page of a wrap, or of all wraps of a name that have ended.
func (d *Dashboard) serverLink(id, name string) string {
	if id != "" {
		return d.Prefix + "/servers/" + url.PathEscape(id)
	}
	return d.Prefix + "/servers?" + url.Values{"name": {name}}.Encode()
}

// serverPage shows a wrap. One that has ended is shown by the events of its process.
func serverPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	id := r.PathValue("id")
	detail, err := live.One(r.Context(), d.Dir, id)
	if err == nil {
		page := &serverData{Running: true, Detail: detail}
		return page.Server.Name, page, d.fillServer(r.Context(), page)
	}
	if !errors.Is(err, live.ErrGone) {
		return "", nil, &problem{Status: http.StatusBadGateway, What: "The server's gauze process did not respond: " + err.Error() + ".",
			Next: "It may be busy or suspended. Reload the page in a moment."}
	}
	process, _, _ := strings.Cut(id, "-")
	pid, _ := strconv.Atoi(process)
	records, err := d.events(r.Context())
	if err != nil {
		return "", nil, err
	}
	for _, record := range slices.Backward(records) {
		if record.Gauze == pid && record.Server != "" {
			return d.ended(r.Context(), record.Server)
		}
	}
	return "", nil, &problem{Status: http.StatusNotFound, What: "This server has stopped, and none of its events were recorded."}
}

// endedPage shows what is recorded about the servers of a name.
func endedPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	return d.ended(r.Context(), r.URL.Query().Get("name"))
}

func (d *Dashboard) ended(ctx context.Context, name string) (title string, data any, err error) {
	page := &serverData{}
	page.Server.Name = name
	if err := d.fillServer(ctx, page); err != nil {
		return "", nil, err
	}
	servers, err := d.servers(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, s := range servers {
		if s.Name == name {
			page.Others = append(page.Others, serverRow{Server: s, Link: d.serverLink(s.ID, "")})
		}
	}
	if len(page.Items) == 0 && len(page.Health) == 0 && len(page.Others) == 0 {
		return "", nil, &problem{Status: http.StatusNotFound, What: "No events were recorded for a server with this name."}
	}
	return name, page, nil
}

// fillServer adds what is recorded about the server.
func (d *Dashboard) fillServer(ctx context.Context, page *serverData) error {
	records, err := d.events(ctx)
	if err != nil {
		return err
	}
	numbers := map[string]int{} // of the last event about a call
	for _, r := range records {
		if r.Server != page.Server.Name {
			continue
		}
		if r.Kind == event.HealthChanged {
			page.Health = append(page.Health, r)
		}
		if r.Call != "" {
			numbers[r.Call] = r.Seq
		}
	}
	page.Health = newest(page.Health, maxHealth)
	items, err := d.records.timeline(ctx)
	if err != nil {
		return err
	}
	items = newestFirst(ofServer(items, page.Server.Name))
	if page.Running {
		records = ofWrap(records, page.Server)
	} else {
		records = slices.DeleteFunc(slices.Clone(records), func(r journal.Record) bool { return r.Server != page.Server.Name })
	}
	page.Healed = scales[0].draw(records, d.now())
	page.Items, page.More = d.shown(items, maxServerItems)
	if at := slices.IndexFunc(items, isDeath); at >= 0 {
		one, _ := d.shown(items[at:], 1)
		page.Death = &one[0]
	}
	for _, c := range newest(page.Recent, maxShownCalls) {
		call := shownCall{Call: c}
		if number, recorded := numbers[c.ID]; recorded {
			call.Link = d.itemLink(strconv.Itoa(number))
		}
		page.Calls = append(page.Calls, call)
	}
	page.LogLink = d.logLink(page.Server.Name)
	page.Timeline = d.Prefix + "/timeline?" + url.Values{"server": {page.Server.Name}}.Encode()
	return nil
}

// newest returns the last n of all, newest first.
func newest[T any](all []T, n int) []T {
	all = slices.Clone(all[max(0, len(all)-n):])
	slices.Reverse(all)
	return all
}

// restartServer replaces the server of a wrap.
func restartServer(d *Dashboard, r *http.Request) (next string, err error) {
	id := r.PathValue("id")
	if err := live.Restart(r.Context(), d.Dir, id); errors.Is(err, live.ErrGone) {
		return "", &problem{Status: http.StatusNotFound, What: "This server has stopped, so it cannot be restarted."}
	} else if err != nil {
		return "", &problem{Status: http.StatusConflict, What: "The server was not restarted: " + err.Error() + "."}
	}
	return "/servers/" + url.PathEscape(id), nil
}

// reloadFile makes the gauze up that has a server read its file again. The overview shows what changed, or what is
// wrong with the file.
func reloadFile(d *Dashboard, r *http.Request) (next string, err error) {
	id := r.PathValue("id")
	_, err = live.Reload(r.Context(), d.Dir, id)
	if errors.Is(err, live.ErrGone) {
		return "", &problem{Status: http.StatusNotFound, What: "This server has stopped, or is no longer in the file."}
	}
	servers, _ := d.servers(r.Context())
	shown := slices.ContainsFunc(servers, func(s live.Server) bool { return s.ID == id && s.File != nil && s.File.Error != "" })
	if err != nil && !shown {
		return "", &problem{Status: http.StatusConflict, What: "The file was not read again: " + err.Error() + "."}
	}
	return "/", nil
}
