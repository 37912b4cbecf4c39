package gateway

import (
	"strings"
	"testing"
)

// A client that never lists the tools, such as curl, gets the same explanation for its first call as every
// other client for every other call.
func TestTheFirstCallWithoutAListIsChecked(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		for mode, want := range map[string]string{"": "The server rejected the call to `book`", "strict": "The call to `book` was not run"} {
			t.Run(era+mode, func(t *testing.T) {
				t.Parallel()
				server := openBookings(t)
				o := quickly()
				o.Session.Repair = mode
				c := serveURL(t, o, server.URL).client()
				var a *answer
				if era == "legacy" {
					a = c.initialize("2025-06-18").call("2", "book", `{"days":"a few"}`)
				} else {
					a = c.modernCall("2", "book", `{"days":"a few"}`)
				}
				if raw := a.next().raw; !strings.Contains(raw, want) || !strings.Contains(raw, `days - received`) {
					t.Errorf("not explained: %s", raw)
				}
				if n := server.made.Load(); n != 0 {
					t.Errorf("%d bookings", n)
				}
			})
		}
	}
}
