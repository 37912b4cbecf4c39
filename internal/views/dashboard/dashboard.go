// Package dashboard shows in a browser what gauze runs and what it healed. It has no state of its own
// and decides nothing: pages are made from the wraps that run (package live), the journal (package
// timeline), the tasks and the clients' configurations, and actions do what the commands do, with the
// same confirmations.
//
//	dashboard.go  Dashboard: its sources and its paths
//	door.go       Door: which requests reach it, and how a browser logs in
//	codes.go      Codes: what is in an address, and is used once
//	page.go       page and action: how a request becomes a page
//	functions.go  what templates may call
//	records.go    the newest events of the journal
//	live.go       the stream that tells a browser that something changed
//	deaths.go     the servers that are permanently dead, for notifications
//	worth.go      what would have failed this week: the sentence, the table and the chart count the same
//	chart.go      what was healed as SVG
//	overview.go, server.go, log.go, timeline.go, tasks.go, configs.go, fix.go  the pages
//	work.go, checks.go  what goes on after a request: tasks that were resumed, checks of servers
//	templates/    one file for each page, layout.html around all of them, pieces.html for several
//	static/       style, icons, htmx; everything is embedded, nothing is loaded from elsewhere
package dashboard

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/metrics"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

//go:embed templates static
var files embed.FS

// Options are where a Dashboard reads from.
type Options struct {
	Dir     string // the state directory
	Prefix  string // the path under which the dashboard is served, without a slash at the end; usually empty
	Version string
	Fleet   func() (*fleet.Fleet, error) // where servers are configured. nil: the current user's.
	Run     taskrun.Options              // how tasks are resumed; Configured and Tell are set by the dashboard
}

// Dashboard serves the pages. A Door guards it: every request that reaches it is allowed.
type Dashboard struct {
	Options
	mux     *http.ServeMux
	pages   *templates
	records *records
	watcher watcher
	work    work
	end     context.CancelFunc
}

// New returns a Dashboard.
func New(o Options) (*Dashboard, error) {
	t, err := parseTemplates()
	if err != nil {
		return nil, err
	}
	d := &Dashboard{Options: o, mux: http.NewServeMux(), pages: t, records: &records{path: journalPath(o.Dir)}}
	d.work.checks.kept = remembered.Seen(o.Dir, "checks")
	d.watcher = watcher{look: d.fingerprint, forget: d.records.close, streams: map[chan struct{}]bool{}}
	d.watcher.life, d.end = context.WithCancel(context.Background())
	static, err := fs.Sub(files, "static")
	if err != nil {
		return nil, err
	}
	d.mux.Handle("GET "+o.Prefix+"/static/", http.StripPrefix(o.Prefix+"/static", http.FileServerFS(static)))
	d.mux.HandleFunc("GET "+o.Prefix+"/live", d.stream)
	d.mux.Handle("GET "+o.Prefix+"/metrics", d.metrics())
	for _, p := range allPages() {
		d.mux.HandleFunc("GET "+o.Prefix+p.path, d.show(p))
	}
	for _, a := range allActions() {
		d.mux.HandleFunc("POST "+o.Prefix+a.path, d.act(a))
	}
	d.mux.HandleFunc(o.Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		d.explain(w, &problem{Status: http.StatusNotFound, What: "This page does not exist."})
	})
	return d, nil
}

// ServeHTTP serves one request.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// Close ends the streams to browsers and closes the journal.
func (d *Dashboard) Close() {
	d.end()
	d.work.close()
	d.records.close()
}

// servers returns the wraps that run.
func (d *Dashboard) servers(ctx context.Context) ([]live.Server, error) { return live.All(ctx, d.Dir) }

// metrics serves what all wraps count, and the verdicts that were recorded since the first scrape:
// a task usually ends with a verdict, before the next scrape.
func (d *Dashboard) metrics() http.Handler {
	var c *metrics.Collector
	c = metrics.New(d.Version, func(ctx context.Context) ([]live.Server, error) {
		judged, _ := d.records.verdicts(ctx) // without the journal, the wraps still count
		for _, r := range judged {
			c.Judged(r.Server, r.Client, r.To)
		}
		return d.servers(ctx)
	})
	return c
}

// events returns the newest recorded events, newest last; none before the journal exists.
func (d *Dashboard) events(ctx context.Context) ([]journal.Record, error) {
	return d.records.newest(ctx)
}

// now is when a page is made.
func (d *Dashboard) now() time.Time { return time.Now() }
