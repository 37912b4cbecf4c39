package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
)

// Every client of gauze serve starts a server. If all of them fail alike, the reason is given once,
// and again only after a server worked.
func TestATroubleIsExplainedAgainOnlyAfterTheServerWorked(t *testing.T) {
	var out bytes.Buffer
	n := newNarrator(&out, false)
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

// A server that cannot be reached says so once, and at last how often that was tried.
func TestRepeatedLinesAreFolded(t *testing.T) {
	var out bytes.Buffer
	n := newNarrator(&out, false)
	now := time.Unix(1_000_000, 0)
	tell := func(e event.Event) {
		e.Server, e.Time = "far", now
		n.tell(e)
	}
	refused := "connection failed: refused"
	tell(event.Event{Kind: event.Died, Generation: 1, Detail: refused})
	for attempt := range 181 {
		now = now.Add(time.Duration(attempt) * time.Millisecond)
		tell(event.Event{Kind: event.Waiting, Generation: attempt + 2, Took: time.Duration(attempt+1) * time.Millisecond, Detail: refused})
		tell(event.Event{Kind: event.Failed, Method: "tools/call", Tool: "get", Code: fault.ServerUnreachable})
	}
	now = now.Add(3 * time.Second)
	tell(event.Event{Kind: event.Restored, Generation: 200, Took: time.Second})
	tell(event.Event{Kind: event.Died, Generation: 200, Detail: refused})
	tell(event.Event{Kind: event.Waiting, Generation: 200, Took: time.Second})
	tell(event.Event{Kind: event.Ready, Generation: 201, Took: time.Second})
	tell(event.Event{Kind: event.Ready, Generation: 202, Took: time.Second}) // of a different client
	n.finish(now)
	want := `gauze: the connection to the server failed: refused
gauze: next attempt in 1ms
gauze: answered tools/call get with server-unreachable (gauze explain server-unreachable)
gauze: another attempt failed: refused (181 times, last 3 s ago)
gauze: answered tools/call get with server-unreachable (gauze explain server-unreachable) (181 times, last 3 s ago)
gauze: the server is running again, session restored (generation 200, 1s)
gauze: the connection to the server failed: refused
gauze: next attempt in 1s
gauze: the server is ready after 1s
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// What happens again much later is told again.
func TestAnOldLineIsNotFolded(t *testing.T) {
	var out bytes.Buffer
	n := newNarrator(&out, false)
	now := time.Unix(1_000_000, 0)
	for range 3 {
		n.tell(event.Event{Kind: event.Repaired, Method: "tools/call", Tool: "get", Detail: "days: string to number", Time: now})
		now = now.Add(foldWithin)
	}
	n.finish(now)
	if got := strings.Count(out.String(), "repaired tools/call get"); got != 3 || strings.Contains(out.String(), "times") {
		t.Errorf("told %d times:\n%s", got, out.String())
	}
}
