package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// checks are the last checks of servers, by the id of the entry. They are gone with the dashboard.
type checks struct {
	mu      sync.Mutex
	all     map[string]*check
	running int
	made    map[string][]backup.Entry // changes that were made here
}

// check is one check of a server, as gauze doctor makes it.
type check struct {
	Begun    time.Time
	Ended    time.Time // zero while it runs
	Progress string
	result   *fleet.Checked // nil while it runs, or if the dashboard ended
	view     *fleet.View    // in which the server was found
}

const (
	maxChecks    = 4               // at the same time; each tests several servers
	checkTimeout = 5 * time.Minute // of all servers of one check
	maxProgress  = 300             // characters
)

// Running reports whether the check is under way.
func (c *check) Running() bool { return c != nil && c.Ended.IsZero() }

// of returns a copy of the last check of an entry, or nil.
func (c *checks) of(id string) *check {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[id] == nil {
		return nil
	}
	one := *c.all[id]
	return &one
}

// madeTo returns the changes that were made to the file of an entry since the dashboard started.
func (c *checks) madeTo(id string) []backup.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[id]
}

func (c *checks) keepMade(id string, made []backup.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[string][]backup.Entry{}
	}
	c.made[id] = made
}

// begin registers a check of these servers, and returns those that are not being checked already.
func (c *checks) begin(view *fleet.View, servers []*fleet.Server) (left []*fleet.Server, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]*check{}
	}
	for _, s := range servers {
		if !c.all[entryID(s)].Running() {
			left = append(left, s)
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	if c.running >= maxChecks {
		return nil, &problem{http.StatusServiceUnavailable, "Several checks are already running.", "Wait until one of them has ended, then try again."}
	}
	c.running++
	for _, s := range left {
		c.all[entryID(s)] = &check{Begun: time.Now(), Progress: "waiting", view: view}
	}
	return left, nil
}

// tell notes the progress of a check.
func (c *checks) tell(s *fleet.Server, is string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.all[entryID(s)]; one.Running() {
		one.Progress = plaintext.Cap(s.Hide(is), maxProgress)
	}
}

func (c *checks) end(servers []*fleet.Server, results []*fleet.Checked, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	for i, s := range servers {
		one := c.all[entryID(s)]
		one.Ended = time.Now()
		if r := results[i]; r != nil && (whole || r.Tried || r.Not != "") {
			one.result = r
		} else {
			one.Progress = "the check was stopped before it ended"
		}
	}
}

// check tests servers in the background. ask is as in fleet.CheckOptions.
func (d *Dashboard) check(f *fleet.Fleet, view *fleet.View, servers []*fleet.Server, o fleet.CheckOptions) error {
	c := &d.work.checks
	servers, err := c.begin(view, servers)
	if err != nil || len(servers) == 0 {
		return err
	}
	o.Model = d.Run.Model
	o.Tell = func(s *fleet.Server, is string) { c.tell(s, is); d.watcher.tell() }
	run := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		f.Machine.Until(ctx)
		results := f.Check(ctx, servers, o)
		c.end(servers, results, ctx.Err() == nil)
		d.watcher.tell()
	}
	if err := d.background(run); err != nil {
		c.end(servers, make([]*fleet.Checked, len(servers)), false)
		return err
	}
	return nil
}

// upToDate reports whether the file of a server is as it was when it was checked.
func (c *check) upToDate(now *clientconfig.Config) bool {
	return c != nil && c.result != nil && bytes.Equal(c.result.Config.Text, now.Text)
}
