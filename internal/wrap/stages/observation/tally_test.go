package observation

import (
	"fmt"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
)

// ended counts n calls of a tool.
func ended(t *tally, tool string, n int) {
	for range n {
		t.end(&kernel.EndedCall{ID: event.NewCallID(), Tool: tool, Outcome: kernel.OutcomeOK, Took: time.Millisecond})
	}
}

func TestWhatIsKeptOfCallsIsBounded(t *testing.T) {
	s := &tally{}
	for i := range 3 * maxTallied {
		ended(s, fmt.Sprint("tool ", i), 1)
	}
	ended(s, "last", 1)
	if recent := s.last(); len(recent) != maxRecent || recent[maxRecent-1].Tool != "last" || recent[0].Tool != fmt.Sprint("tool ", 3*maxTallied-maxRecent+1) {
		t.Errorf("%d calls, %+v", len(recent), recent)
	}
	if len(s.tools) != maxTallied+1 || s.ended != 3*maxTallied+1 {
		t.Errorf("%d tools", len(s.tools))
	}
	var sum uint64
	for _, tool := range s.tools {
		sum += tool.calls
	}
	if sum != s.ended {
		t.Errorf("the tools have %d calls", sum)
	}
}

func TestCountingAHealthyCallCostsNoAllocation(t *testing.T) {
	s := &tally{}
	ended(s, "echo", 2*maxRecent)
	if n := testing.AllocsPerRun(100, func() { ended(s, "echo", 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCountingACall(b *testing.B) {
	s := &tally{}
	b.ReportAllocs()
	for b.Loop() {
		ended(s, "echo", 1)
	}
}
