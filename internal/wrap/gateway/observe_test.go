package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

func TestTheSessionsOfAGatewayAreSummedUp(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	if seen, sessions := f.g.Observe(true); seen.State != StateIdle || sessions != 0 || seen.Calls != 0 {
		t.Errorf("%d sessions, %+v", sessions, seen)
	}
	if err := f.g.Restart(t.Context()); err == nil {
		t.Error("a gateway without a server was restarted")
	}
	a, b := f.client().initialize("2025-06-18"), f.client().initialize("2025-06-18")
	a.call("1", "echo", `{"text":"x"}`).want(200)
	b.call("1", "echo", `{"text":"x"}`).want(200)
	b.call("2", "die", `{}`).want(200)
	b.call("3", "pid", `{}`).want(200)
	seen, sessions := f.g.Observe(true)
	if sessions != 2 || seen.Calls != 4 || seen.Failed != 1 || seen.Unknown != 1 || seen.Open != 0 || seen.Healed != 1 || seen.Restarts != 1 ||
		seen.Latency.Count() != 3 || seen.Recovery.Count() != 1 || len(seen.Recent) != 4 || seen.State == StateIdle {
		t.Errorf("%d sessions, %+v", sessions, seen)
	}
	for _, tool := range seen.Tools {
		if tool.Name == "echo" && tool.Calls != 2 {
			t.Errorf("%+v", tool)
		}
	}
	if err := f.g.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	a.call("4", "echo", `{"text":"x"}`).want(200)
	b.call("4", "echo", `{"text":"x"}`).want(200)
	b.request("DELETE", "").want(204)
	f.await(event.Stopped)
	now, _ := f.g.Observe(false)
	if now.LastReason != upstream.ReasonRestart {
		t.Errorf("the last restart was because of %q", now.LastReason)
	}
	if now.Calls != 6 || now.Failed != 1 || now.Latency.Count() != 5 || now.Closures[upstream.ReasonRestart] != 2 || now.Restarts != 3 || now.Healed != 1 || now.Recent != nil {
		t.Errorf("%+v", now)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_ = f.g.Restart(over) // whatever it returns, it ends
}

// printer is a session that printed lines.
type printer []upstream.Line

func (p printer) Printed() []upstream.Line { return p }

func TestTheLinesOfManySessionsAreBounded(t *testing.T) {
	t.Parallel()
	sessions := make([]printer, 3)
	for i := range 2 * maxPrinted {
		line := upstream.Line{Time: time.Unix(int64(i), 0)}
		sessions[i%3] = append(sessions[i%3], line)
	}
	lines := lastPrinted(sessions)
	if len(lines) != maxPrinted {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		if want := int64(maxPrinted + i); line.Time.Unix() != want {
			t.Fatalf("line %d is of second %d, want %d", i, line.Time.Unix(), want)
		}
	}
}
