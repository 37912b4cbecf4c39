package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

const healthPath = "/healthz"

// ReadyPath is the path that tells whether a new client would be served.
const ReadyPath = "/readyz"

// startGrace is the time for a server that may download packages first.
const startGrace = time.Minute

// serveHealth reports that the gateway is running and reveals nothing else.
func (g *Gateway) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		notAllowed(http.MethodGet).write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "ok\n")
}

// state is the response of /readyz.
type state struct {
	Ready    bool   `json:"ready"`
	Draining bool   `json:"draining"`
	Upstream string `json:"upstream"` // the worst state of all sessions; reachable or unreachable if there is none
	Reason   string `json:"reason,omitempty"`
	Sessions int    `json:"sessions"`
}

// serveReady reports whether a new client would be served.
func (g *Gateway) serveReady(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		notAllowed(http.MethodGet).write(w)
		return
	}
	now := g.state(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !now.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(now)
}

func (g *Gateway) state(ctx context.Context) (now state) {
	g.table.mu.Lock()
	worst, alive := health.Healthy, 0
	for l := range g.table.lives {
		if l.proxy == nil {
			continue
		}
		snapshot := l.proxy.Upstream().Snapshot()
		if snapshot.Asleep || snapshot.Generation == 0 && time.Since(l.began) < startGrace {
			continue // it is starting, or will be: a new client must not make the gateway look broken
		}
		worst = min(worst, snapshot.State)
		alive++
	}
	now.Sessions, now.Draining = len(g.table.sessions), g.table.draining
	g.table.mu.Unlock()
	if alive > 0 {
		now.Upstream, now.Ready = worst.String(), worst >= health.Degraded
	} else if err := g.ready.look(ctx, g.Reachable); err != nil {
		now.Upstream, now.Reason = "unreachable", redact.Quote(err.Error())
	} else {
		now.Upstream, now.Ready = "reachable", true
	}
	now.Ready = now.Ready && !now.Draining
	return now
}

// readiness caches briefly whether the server can be reached, so that many requests to the gateway
// do not cause many to the server.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	last error
}

const (
	readinessTTL     = 3 * time.Second
	readinessTimeout = 2 * time.Second
)

func (r *readiness) look(ctx context.Context, reachable func(context.Context) error) error {
	if reachable == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.at.IsZero() || now.Sub(r.at) > readinessTTL {
		// The context of the request does not apply: a disconnect says nothing about the server.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readinessTimeout)
		defer cancel()
		r.last, r.at = reachable(ctx), now
	}
	return r.last
}
