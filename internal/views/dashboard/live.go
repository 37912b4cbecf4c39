package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
)

const (
	lookInterval   = time.Second
	keepAlive      = 15 * time.Second // between two messages of a stream
	maxStreams     = 64
	streamDeadline = 30 * time.Second // for a browser to read a message
	idleTime       = time.Minute      // without a browser, after which nothing is kept in memory
)

// watcher looks for changes once a second, as long as a browser listens.
type watcher struct {
	look   func(context.Context) uint64 // returns a number that differs when something changed
	forget func()                       // called some time after the last browser left
	life   context.Context

	mu      sync.Mutex
	streams map[chan struct{}]bool
	stop    context.CancelFunc
}

// listen returns a channel that receives when something changed, or nil if there are too many.
func (w *watcher) listen() (changed chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.streams) >= maxStreams {
		return nil, nil
	}
	changed = make(chan struct{}, 1)
	w.streams[changed] = true
	if len(w.streams) == 1 {
		ctx, stop := context.WithCancel(w.life)
		w.stop = stop
		go w.run(ctx)
	}
	return changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, changed)
		if len(w.streams) == 0 {
			w.stop()
			time.AfterFunc(idleTime, w.rest)
		}
	}
}

// rest forgets what was kept, unless a browser came.
func (w *watcher) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.streams) == 0 {
		w.forget()
	}
}

func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for last := w.look(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := w.look(ctx); now != last && ctx.Err() == nil {
			last = now
			w.tell()
		}
	}
}

// tell wakes every stream. One that was woken and has not run yet needs no second time.
func (w *watcher) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for changed := range w.streams {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// fingerprint returns a number that differs when a wrap or the journal changed.
func (d *Dashboard) fingerprint(ctx context.Context) uint64 {
	h := fnv.New64a()
	servers, err := live.All(ctx, d.Dir)
	json.NewEncoder(h).Encode(servers)
	fmt.Fprint(h, err)
	all, err := d.records.newest(ctx)
	if len(all) > 0 {
		fmt.Fprint(h, all[len(all)-1].Seq)
	}
	fmt.Fprint(h, err)
	if info, err := os.Stat(journalPath(d.Dir) + "-wal"); err == nil { // tasks are written there, also by other processes
		fmt.Fprint(h, info.Size(), info.ModTime())
	}
	return h.Sum64()
}

// stream sends an event whenever something changed, and one for each server that is permanently dead.
func (d *Dashboard) stream(w http.ResponseWriter, r *http.Request) {
	changed, leave := d.watcher.listen()
	if changed == nil {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	control := http.NewResponseController(w)
	send := func(message string) bool {
		control.SetWriteDeadline(time.Now().Add(streamDeadline))
		_, err := w.Write([]byte(message))
		return err == nil && control.Flush() == nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	told := map[string]bool{}
	for message := "retry: 2000\n\n" + d.deathMessages(r.Context(), told); send(message); {
		select {
		case <-r.Context().Done():
			return
		case <-d.watcher.life.Done():
			return
		case <-changed:
			message = "event: change\ndata: \n\n" + d.deathMessages(r.Context(), told)
		case <-tick.C:
			message = ":\n\n"
		}
	}
}
