package timeline

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
)

// How a server ended is one sentence, whatever upstream says about it.
func TestEnded(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]event.Event{
		"the server exited (exit status 1) after 2s":                        {PID: 1, Took: 2 * time.Second, Detail: "it exited (exit status 1)"},
		"the server exited (signal: killed)":                                {PID: 1, Detail: "it exited (signal: killed)"},
		"gauze stopped the server after 2s: the client left":                {PID: 1, Took: 2 * time.Second, Detail: "gauze stopped it: the client left"},
		"the server exited":                                                 {PID: 1},
		"the connection to the server failed: connection refused":           {Detail: "connection failed: connection refused"},
		"the connection to the server failed":                               {},
		"the server no longer recognizes the session: HTTP 404":             {Detail: "it no longer recognizes the session: HTTP 404"},
		"gauze closed the connection: it did not answer initialize":         {Detail: "gauze stopped it: it did not answer initialize"},
		"the server exited after 1ms: fork/exec: resource is not available": {PID: 1, Took: time.Millisecond, Detail: "fork/exec: resource is not available"},
	} {
		e.Kind = event.Died
		if got := Sentence(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
