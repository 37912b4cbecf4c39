package kernel_test

import (
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// An idle server that is stopped, and stays so, is replaced before a call has to wait for it.
func TestAStoppedIdleServerIsReplaced(t *testing.T) {
	t.Parallel()
	s := begin(t, lookedAt()).initialize()
	s.awaitProbe()
	pid := s.pid()
	if err := faultyserver.Suspend(pid); err != nil {
		t.Fatal(err)
	}
	s.await(event.Hung, 1)
	s.await(event.Restored, 1)
	s.wantGone(pid)
	s.call("echo", "")
	s.want(event.Started, 2)
}
