package gateway

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// awaitReady asks /readyz until it answers with a status.
func (f *front) awaitReady(status int) (now state) {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.After(patience.Limit())
	for {
		response, err := http.Get("http://" + f.addr + ReadyPath)
		if err != nil {
			f.t.Fatal(err)
		}
		err = json.NewDecoder(response.Body).Decode(&now)
		response.Body.Close()
		if err != nil {
			f.t.Fatal(err)
		}
		if response.StatusCode == status {
			return now
		}
		select {
		case <-tick.C:
		case <-over:
			f.t.Fatalf("status %d, want %d", response.StatusCode, status)
		}
	}
}

// A server at a URL that no longer answers makes the gateway unready, although nobody calls it, and ready
// again when it answers.
func TestReadinessIsThatOfAnIdleServerAtAURL(t *testing.T) {
	t.Parallel()
	web := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	o := quickly()
	o.IdleProbe, o.Session.Timing.ProbeTimeout = 10*time.Millisecond, time.Second // a busy machine is slow
	f := serveURL(t, o, web.URL())
	f.client().initialize("2025-06-18").call("1", "echo", `{"text":"x"}`).result()
	f.awaitReady(http.StatusOK)
	web.Arm(faultyhttp.SlowHeaders, 1<<30, faultyhttp.Match{Method: "ping"})
	if now := f.awaitReady(http.StatusServiceUnavailable); now.Upstream != "unresponsive" {
		t.Errorf("%+v", now)
	}
	web.Disarm()
	f.awaitReady(http.StatusOK)
}

// Sessions that share a server at a URL do not all ask it.
func TestOneOfTheSessionsOfAServerLooksAtIt(t *testing.T) {
	t.Parallel()
	web := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	o := quickly()
	remote, err := upstream.NewRemote(launch.Spec{URL: web.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	o.Session.Remote, o.IdleProbe = remote, time.Hour
	f := serveURL(t, o, web.URL())
	for range 3 {
		f.client().initialize("2025-06-18").call("1", "echo", `{"text":"x"}`).result()
	}
	f.g.table.mu.Lock()
	defer f.g.table.mu.Unlock()
	if all := f.g.table.idleSessions(); len(f.g.table.lives) != 3 || len(all) != 1 {
		t.Errorf("%d of %d sessions look at the server", len(all), len(f.g.table.lives))
	}
}
