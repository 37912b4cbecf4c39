package kernel_test

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
)

// The counters of a server that cannot be kept running say how often it failed, when, why, and when it is
// tried again.
func TestTheCountersOfACrashLoopAreFilled(t *testing.T) {
	t.Parallel()
	began := time.Now()
	o := unprobed()
	s, _ := crashLoop(t, o, time.Hour)
	s.await(event.Opened, 1)
	up := s.session.Upstream()
	now := up.Snapshot()
	// On a busy machine, an exit may take so long after the end of stdout that gauze ends the process.
	exited := func(cause string) bool {
		return cause == "it exited (exit status 1)" || cause == "gauze stopped it: it closed its stdout"
	}
	if now.State != health.Dead || now.ConsecutiveFailures != 6 || now.LastFailure.Before(began) || !exited(now.LastCause) {
		t.Errorf("%+v", now)
	}
	if !now.NextTry.After(time.Now()) {
		t.Errorf("the next attempt is at %v, want it in the future", now.NextTry)
	}
	if now.LastSuccess.Before(began) { // it answered initialize
		t.Errorf("the last success was at %v", now.LastSuccess)
	}
	all := up.Failures()
	if len(all) != 6 {
		t.Fatalf("%d failures: %+v", len(all), all)
	}
	for i, f := range all {
		if f.Kind != health.Exited || !exited(f.Detail) || i > 0 && f.At.Before(all[i-1].At) {
			t.Errorf("failure %d: %+v", i, f)
		}
	}
}
