package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// checks are the last checks of servers, by the id of the entry. What came of one is also kept on disk.
type checks struct {
	kept *remembered.Shelf

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
	kept     *keptCheck     // what an earlier dashboard found out; nil: this one has checked it
	round    *checkRound    // the check of several servers that this one is part of
}

// checkRound is a check of several servers.
type checkRound struct {
	servers []*fleet.Server
	done    int
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
		return c.recall(id)
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

// begin registers a check of those of these servers that are not being checked already. It returns nil if all are.
func (c *checks) begin(view *fleet.View, servers []*fleet.Server) (*checkRound, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]*check{}
	}
	round := &checkRound{}
	for _, s := range servers {
		if !c.all[entryID(s)].Running() {
			round.servers = append(round.servers, s)
		}
	}
	if len(round.servers) == 0 {
		return nil, nil
	}
	if c.running >= maxChecks {
		return nil, &problem{http.StatusServiceUnavailable, "Several checks are already running.", "Wait for one to finish, then try again."}
	}
	c.running++
	for _, s := range round.servers {
		c.all[entryID(s)] = &check{Begun: time.Now(), Progress: "waiting", view: view, round: round}
	}
	return round, nil
}

// tell notes the progress of a check.
func (c *checks) tell(s *fleet.Server, is string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.all[entryID(s)]; one.Running() {
		one.Progress = plaintext.Cap(s.Hide(is), maxProgress)
	}
}

// done notes the result of one server.
func (c *checks) done(r *fleet.Checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[entryID(r.Server)]
	if !one.Running() || !r.Tried && r.Not == "" {
		return
	}
	one.Ended, one.result = time.Now(), r
	one.round.done++
	c.keep(r, one.Ended)
}

// end ends a check. Servers without a result were not reached before it was stopped. One that had a result may be in
// the next check by now, which goes on.
func (c *checks) end(round *checkRound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	for _, s := range round.servers {
		if one := c.all[entryID(s)]; one.Running() && one.round == round {
			one.Ended, one.Progress = time.Now(), "The check was stopped before it finished."
		}
	}
}

// progress returns how many servers of the checks that are under way have a result.
func (c *checks) progress() (done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[*checkRound]bool{}
	for _, one := range c.all {
		if one.Running() && !seen[one.round] {
			seen[one.round] = true
			done, total = done+one.round.done, total+len(one.round.servers)
		}
	}
	return done, total
}

// check tests servers in the background. ask is as in fleet.CheckOptions.
func (d *Dashboard) check(f *fleet.Fleet, view *fleet.View, servers []*fleet.Server, o fleet.CheckOptions) error {
	c := &d.work.checks
	round, err := c.begin(view, servers)
	if err != nil || round == nil {
		return err
	}
	o.Model = d.Run.Model
	o.Done = func(r *fleet.Checked) { c.done(r); d.watcher.tell() }
	o.Tell = func(s *fleet.Server, is string) { c.tell(s, is); d.watcher.tell() }
	run := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		f.Machine.Until(ctx)
		f.Check(ctx, round.servers, o)
		c.end(round)
		d.watcher.tell()
	}
	if err := d.background(run); err != nil {
		c.end(round)
		return err
	}
	return nil
}

// upToDate reports whether the file of a server is as it was when it was checked.
func (c *check) upToDate(now *clientconfig.Config) bool {
	return c != nil && c.result != nil && bytes.Equal(c.result.Config.Text, now.Text)
}

// keptCheck is what is kept on disk of a check: no command, no output, and the cause without secrets.
type keptCheck struct {
	Ended time.Time   `json:"ended"`
	State fleet.State `json:"state"`
	Cause string      `json:"cause,omitempty"`
	File  string      `json:"file"` // a hash of the file that was checked
}

// keep writes the result of a check to disk.
func (c *checks) keep(r *fleet.Checked, at time.Time) {
	if c.kept == nil || !r.Tried {
		return
	}
	v := r.Verdict()
	text, err := json.Marshal(keptCheck{at, v.State, plaintext.Cap(r.Hide(redact.Quote(v.Cause)), maxProgress), token(string(r.Config.Text))})
	if err == nil {
		c.kept.Put(entryID(r.Server), text)
	}
}

// recall reads the last check of an entry from disk, or returns nil.
func (c *checks) recall(id string) *check {
	if c.kept == nil {
		return nil
	}
	var k keptCheck
	if err := json.Unmarshal(c.kept.Get(id), &k); err != nil || k.Ended.IsZero() {
		return nil
	}
	k.Cause = plaintext.Cap(plaintext.Clean(k.Cause), maxProgress)
	return &check{Begun: k.Ended, Ended: k.Ended, kept: &k}
}
