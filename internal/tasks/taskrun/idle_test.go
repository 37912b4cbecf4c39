package taskrun

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A server that is silent between two steps may be at work: the next call is sent to it, and it is not
// replaced because it left probes unanswered.
func TestAServerThatIsSilentBetweenStepsIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := begin(t, twoSteps, "-era=modern", "-ignore-discover=calls=1,skip=1") // one that never answered a probe may not know it
	ctx := patience.Context(t)
	var starts atomic.Int32
	silent := make(chan struct{}, 1)
	s := b.runIn(ctx, func(r *task.Runner, servers *Servers) {
		servers.Wrap.Timing.IdleProbe, servers.Wrap.Timing.Patience = 10*time.Millisecond, time.Second
		servers.Observe = func(_ string, e event.Event) {
			switch {
			case e.Kind == event.Started:
				starts.Add(1)
			case e.Kind == event.HealthChanged && e.To == "unresponsive" && len(silent) == 0:
				silent <- struct{}{}
			}
		}
		r.Tell = func(s *task.State, e task.Entry) {
			if e.Kind != task.KindOutcome || len(s.Calls) > 1 {
				return
			}
			select {
			case <-silent:
			case <-ctx.Done():
				t.Error("no probe was missed")
			}
		}
	})
	b.want(s, "done", 0)
	if n := starts.Load(); n != 1 || len(s.Judged) > 0 {
		t.Errorf("it was started %d times: %+v", n, s.Judged)
	}
}
