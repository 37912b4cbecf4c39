package upgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
)

// Watch checks at most once a day whether there is a newer release, and reports one at most once a day.
type Watch struct {
	Releases
	Installed string // Installed is the version of this program.
	File      string // File keeps what the last check found.
	Now       time.Time

	timeout  time.Duration // default watchTimeout
	patience time.Duration // default watchPatience
}

// Limits of a check.
const (
	watchInterval = 24 * time.Hour
	watchTimeout  = 5 * time.Second
	watchPatience = 300 * time.Millisecond // of a command that has ended before its check
)

// seen is what is kept between two commands.
type seen struct {
	Checked  time.Time `json:"checked"`  // when a check began, also one that failed or was abandoned
	Latest   string    `json:"latest"`   // the version that a check found, signed
	Reported time.Time `json:"reported"` // when the user was told
}

// Check is what happens beside one command.
type Check struct {
	watch         Watch
	before, after seen
	cancel        context.CancelFunc
	ended         chan struct{}
}

// Begin starts a check if one is due. It is recorded first: without that, there is none, because every
// command would connect.
func (w Watch) Begin() *Check {
	c := &Check{watch: w, before: w.read(), cancel: func() {}, ended: make(chan struct{})}
	c.after = c.before
	if w.due(c.before.Checked) {
		c.after.Checked = w.Now
	}
	if c.after == c.before || w.write(c.after) != nil {
		c.after = c.before
		close(c.ended)
		return c
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(w.timeout, watchTimeout))
	c.cancel = cancel
	go func() {
		defer close(c.ended)
		if release, err := w.Find(ctx, ""); err == nil {
			c.after.Latest = release.Version
		}
	}()
	return c
}

// End returns the newer version that an earlier check found, or "" if there is none or the user has
// been told today. It waits a moment for its own check, and then abandons it until tomorrow.
func (c *Check) End() (newer string) {
	w := c.watch
	select {
	case <-c.ended:
	case <-time.After(cmp.Or(w.patience, watchPatience)):
	}
	c.cancel()
	<-c.ended
	if latest := c.before.Latest; installed.IsVersion(latest) && installed.Compare(latest, w.Installed) > 0 && w.due(c.before.Reported) {
		newer, c.after.Reported = latest, w.Now
	}
	if c.after != c.before && w.write(c.after) != nil {
		return "" // it would be reported by every command
	}
	return newer
}

// due reports whether a day has passed since then. A time in the future is that of a wrong clock.
func (w Watch) due(then time.Time) bool {
	passed := w.Now.Sub(then)
	return passed >= watchInterval || passed < 0
}

// read returns what is kept. Without a file, or with one that is damaged, that is nothing.
func (w Watch) read() (kept seen) {
	content, err := os.ReadFile(w.File)
	if err != nil || json.Unmarshal(content, &kept) != nil {
		return seen{}
	}
	return kept
}

func (w Watch) write(kept seen) error {
	content, err := json.Marshal(kept)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(w.File), 0o700)
	}
	if err == nil {
		err = files.Swap(w.File, content)
	}
	return err
}
