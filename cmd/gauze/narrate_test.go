package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
)

// Every client of gauze serve starts a server. If all of them fail alike, the reason is given once,
// and again only after a server worked.
func TestATroubleIsExplainedAgainOnlyAfterTheServerWorked(t *testing.T) {
	var out bytes.Buffer
	n := narrator{w: &out}
	fail := func(cause string, ran time.Duration) {
		for _, e := range []event.Event{
			{Kind: event.HealthChanged, From: "dead", To: "healthy"},
			{Kind: event.Ready, PID: 1},
			{Kind: event.Died, PID: 1, Took: ran, Detail: "exit status 1"},
			{Kind: event.GaveUp, Code: fault.ServerExitsEarly, Cause: fault.Cause{Code: cause, Explanation: "Why.", Remedy: "Do this."}},
		} {
			n.tell(e)
		}
	}
	for i, step := range []struct {
		before event.Event
		cause  string
		ran    time.Duration
		want   int
	}{
		{cause: "env_not_set", want: 1},
		{cause: "env_not_set", want: 1},
		{cause: "port_in_use", want: 2},
		{cause: "port_in_use", ran: time.Hour, want: 3},
		{cause: "port_in_use", want: 3},
		{before: event.Event{Kind: event.HealthChanged, From: "degraded", To: "healthy"}, cause: "port_in_use", want: 4},
		{before: event.Event{Kind: event.Restored}, cause: "port_in_use", want: 5},
	} {
		n.tell(step.before)
		fail(step.cause, step.ran)
		if got := strings.Count(out.String(), "Do this."); got != step.want {
			t.Errorf("step %d: explained %d times, want %d", i, got, step.want)
		}
	}
}
