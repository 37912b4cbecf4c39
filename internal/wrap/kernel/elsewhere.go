package kernel

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// elsewhere is what is known about a command that does not answer on stdout: it may serve HTTP. The
// session's lock guards it.
type elsewhere struct {
	conn    *upstream.Conn // that it is about
	looks   int
	looking bool
	next    time.Time
	settled bool   // it will not answer on stdout
	serves  string // the URL at which it answers instead; empty if it is not known
}

// maxLooks is how often a silent command is looked at before the cause that its output shows counts:
// not every system shows on which ports it listens.
const maxLooks = 3

// lookTimeout bounds one look.
const lookTimeout = 10 * time.Second

// isElsewhere reports whether a server that was asked to begin a session serves HTTP instead, at two looks in
// a row. Clients wait for a minute, so it looks for that every lookInterval while the server is silent.
func (w *watcher) isElsewhere(conn *upstream.Conn, asked, now time.Time) bool {
	e := &w.elsewhere
	if e.conn != conn {
		*e = elsewhere{conn: conn, next: asked.Add(w.s.config.Timing.LookInterval)}
	}
	if e.settled || e.looking || now.Before(e.next) || e.looks >= maxLooks || conn.Remote() || conn.Spoke() {
		return e.settled
	}
	e.looking = true
	e.looks++
	last, method := e.looks == maxLooks, "initialize"
	w.s.work.background.Go(func() {
		ctx, cancel := context.WithTimeout(w.s.work.life, lookTimeout)
		defer cancel()
		serves := w.s.up.ServedAt(ctx, conn)
		lasts := serves == "" && last && w.s.up.Lasts(conn.Stuck(method, asked))
		w.s.mu.Lock()
		defer w.s.mu.Unlock()
		if e := &w.elsewhere; e.conn == conn {
			again := serves != "" && serves == e.serves // a server may open its port before it answers on stdout
			e.looking, e.settled, e.serves = false, again || lasts, serves
			e.next = now.Add(w.s.config.Timing.LookInterval)
		}
	})
	return false
}
