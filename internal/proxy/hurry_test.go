package proxy

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// A client that left gets the answers that are due, unless the stop is to be immediate.
func TestHurryDoesNotWaitForAnswers(t *testing.T) {
	for _, c := range []struct {
		hurry bool
		waits time.Duration
	}{{false, time.Minute}, {true, 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{Spec: launch.Spec{Command: "server"}, FinishGrace: time.Minute})
			s.check = nil // the call is not complete
			s.calls["1"] = &call{}
			if c.hurry {
				s.Hurry()
				s.Hurry() // twice is once
			}
			start := time.Now()
			s.finish(t.Context())
			if waited := time.Since(start); waited != c.waits {
				t.Errorf("hurry %v: waited %v, want %v", c.hurry, waited, c.waits)
			}
			s.endLife()
		})
	}
}
