package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// work is what goes on after the request that asked for it has ended: tasks that were resumed, and
// checks of servers. It ends with the dashboard.
type work struct {
	tasks  taskrun.Background
	checks checks
	others sync.WaitGroup

	mu    sync.Mutex
	store *taskrun.Store // nil until a task is used
	ended bool
}

// tasks returns the tasks of this user, or nil before there is a journal: a page creates none.
func (d *Dashboard) tasks() (*taskrun.Store, error) {
	w := &d.work
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
		return nil, errors.New("gauze is stopping")
	case w.store != nil:
		return w.store, nil
	}
	if _, err := os.Stat(filepath.Join(d.Dir, journal.FileName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	store, err := taskrun.Open(d.Dir)
	if err != nil {
		return nil, err
	}
	w.store = store
	return store, nil
}

// close waits until tasks have saved their state and checks have stopped their servers. The context
// of both has ended.
func (w *work) close() {
	w.mu.Lock()
	w.ended = true // nothing is begun from here on
	w.mu.Unlock()
	w.tasks.Close()
	w.others.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.store != nil {
		_ = w.store.Close() // every entry was durable when it was written
		w.store = nil
	}
}

// background calls do in a goroutine that Close waits for.
func (d *Dashboard) background(do func(context.Context)) error {
	w := &d.work
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return errors.New("gauze is stopping")
	}
	w.others.Go(func() { do(d.watcher.life) })
	return nil
}

// fleet returns the servers of all clients.
func (d *Dashboard) fleet() (*fleet.Fleet, error) {
	if d.Fleet == nil {
		return fleet.Here(d.Version)
	}
	return d.Fleet()
}

// token identifies what a page showed. A form sends it back, so that only what was seen is confirmed.
func token(parts ...any) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%q\n", fmt.Sprint(part))
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

// ticked reports whether the user ticked the box of a form.
func ticked(r *http.Request) bool { return r.PostFormValue("read") == "yes" }
