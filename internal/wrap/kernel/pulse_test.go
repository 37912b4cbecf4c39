package kernel

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// A hung server that uses a little CPU stays idle for as long as that goes on;
// one that begins to work is seen working.
func TestALittleCPUDoesNotAddUpToWork(t *testing.T) {
	t.Parallel()
	const grace = 10 * time.Second
	var p pulse
	begin := time.Unix(1_000_000, 0)
	now, cpu := begin, time.Second
	look := func(used time.Duration) {
		p.note(upstream.Vitals{Known: true, CPU: cpu}, now, grace)
		now, cpu = now.Add(time.Second), cpu+used
	}
	for range 600 {
		look(5 * time.Millisecond) // half a hundredth of the time
	}
	if p.idleSince != begin {
		t.Errorf("it counts as working after %v", p.idleSince.Sub(begin))
	}
	look(time.Second)
	if look(0); p.idleSince != p.looked {
		t.Error("a server at work counts as idle")
	}
}
