package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/logs"
)

var logPages = []page{
	{path: "/log", nav: "overview", template: "log", load: logPage},
}

// maxLogLines is how many lines of a log a page shows.
const maxLogLines = 500

// logData is what the log of a server shows.
type logData struct {
	Name    string
	Link    string // the server's page
	Lines   []logs.Line
	Cut     bool // there are older lines
	Running bool
}

func (d *Dashboard) logLink(name string) string {
	return d.Prefix + "/log?" + url.Values{"server": {name}}.Encode()
}

// logPage shows what the servers of a name printed and what gauze did about them, newest last.
func logPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	page := &logData{Name: r.URL.Query().Get("server")}
	wraps, err := d.printed(r.Context(), page.Name)
	if err != nil {
		return "", nil, err
	}
	records, err := d.events(r.Context())
	if err != nil {
		return "", nil, err
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r journal.Record) bool { return r.Server != page.Name })
	page.Lines, page.Running = logs.Merge(wraps, records), len(wraps) > 0
	if !page.Running && len(records) == 0 {
		return "", nil, &problem{Status: http.StatusNotFound, What: "No log exists for a server with this name."}
	}
	if extra := len(page.Lines) - maxLogLines; extra > 0 {
		page.Lines, page.Cut = page.Lines[extra:], true
	}
	page.Link = d.serverLink("", page.Name)
	if len(wraps) == 1 {
		page.Link = d.serverLink(wraps[0].Server.ID, "")
	}
	return "Log of " + page.Name, page, nil
}

// printed returns the wraps of a name that are running, and what their servers printed.
func (d *Dashboard) printed(ctx context.Context, name string) (wraps []logs.Wrap, err error) {
	servers, err := d.servers(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		if s.Name != name {
			continue
		}
		lines, _ := live.Log(ctx, d.Dir, s.ID) // an older gauze has none; the journal has the rest
		wraps = append(wraps, logs.Wrap{Server: s, Lines: lines})
	}
	return wraps, nil
}
