package task

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The attempts that a library makes, as it documents them. Where a task differs, the row says why.
func TestAttemptsThatAgentsMake(t *testing.T) {
	unsent, ok := lost(Unsent), says("ok")
	for _, test := range []struct {
		name     string
		replies  []Reply // the last one is that of all further calls
		attempts int     // of the library
		calls    int
		status   string
		why      string // the calls differ
	}{
		{"the connection is lost once", []Reply{unsent, ok}, 2, 2, "done", ""},
		{"the server closes the connection once", []Reply{lost(Unknown), ok}, 2, 2, "done", ""},
		{"the connection is lost three times", []Reply{unsent, unsent, unsent, ok}, 3, 4, "done", "a task waits longer: no one watches it"},
		{"the connection is lost every time", []Reply{unsent}, 2, maxLosses, "server-dead", "as above"},
		{"the tool fails", []Reply{failed("ValueError: no")}, 1, 1, "failed", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := 0
			o := begin(t, "steps: [{id: a, server: s, tool: read}]", func(context.Context, string, string) Reply {
				n++
				return test.replies[min(n, len(test.replies))-1]
			})
			if s := o.run(); s.Status() != test.status || len(o.calls) != test.calls {
				t.Errorf("the task is %s after %d calls, want %s after %d", s.Status(), len(o.calls), test.status, test.calls)
			}
			if (test.attempts == test.calls) != (test.why == "") {
				t.Errorf("the library makes %d attempts, a task %d: %q", test.attempts, test.calls, test.why)
			}
		})
	}
}

// The words by which agents recognize a dead session do not count in a result: the server that sent
// it lives, so the task neither reconnects nor repeats the call.
func TestWordsDoNotEndASession(t *testing.T) {
	for _, text := range []string{
		"broken pipe", "connection closed", "connection reset", "stream closed", "session not initialized", "transport closed",
		"anyio.ClosedResourceError", "read operation was cancelled", "BrokenPipeError", "EOFError", "EndOfStream",
		"MCP error -32000: Connection closed", "MCP error: Session not found (code: -32001)", "[Server: x] Tool 'y' failed: bad input",
	} {
		o := begin(t, "steps: [{id: a, server: s, tool: read}]", always(failed(text)))
		if s := o.run(); s.Status() != "failed" || len(o.calls) != 1 || o.reconnects != 0 {
			t.Errorf("%q: the task is %s after %d calls and %d attempts to reconnect", text, s.Status(), len(o.calls), o.reconnects)
		}
	}
}

// The waits between attempts. Two agents wait 0, 1 and 2 seconds, or 1, 2, 4, 8 and 16 and then give
// up: a task waits as the second, after a first attempt that is immediate, and stops as server-dead.
func TestWaitsThatAgentsMake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []string
		last := time.Now()
		o := begin(t, "steps: [{id: a, server: s, tool: read}]", func(context.Context, string, string) Reply {
			waits = append(waits, time.Since(last).String())
			last = time.Now()
			return lost(Unsent)
		})
		o.r.Backoff = 0 // the default
		o.wantStatus("server-dead", 3)
		if got := strings.Join(waits, " "); got != "0s 1s 2s 4s 8s" {
			t.Errorf("waited %s", got)
		}
	})
}
