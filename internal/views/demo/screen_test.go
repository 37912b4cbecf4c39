package demo

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

func TestAStormIsSummedUpByItself(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out, false)
	s.event(event.Event{Kind: event.Died})
	s.event(event.Event{Kind: event.Restored})
	s.quiet(true)
	s.event(event.Event{Kind: event.Died})
	s.event(event.Event{Kind: event.Died})
	s.event(event.Event{Kind: event.Restored})
	s.settled("done")
	if got := out.String(); !strings.Contains(got, "killed 2 times") || !strings.Contains(got, "restored once, 0 calls sent again") {
		t.Error(got)
	}
}
