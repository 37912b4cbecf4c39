package gateway

import (
	"testing"
	"time"
)

func TestMemoryIsGivenBackOnceAfterABusyTime(t *testing.T) {
	t.Parallel()
	var tidy tidier
	now := time.Now()
	look := func(requests uint64) bool {
		now = now.Add(checkInterval)
		return tidy.due(requests, now)
	}
	for i, story := range []struct {
		requests uint64
		due      bool
	}{
		{0, false}, {0, false}, {0, false}, // nobody ever came
		{5, false}, {5, false}, {5, true}, // calm for two looks
		{5, false}, {5, false}, // once is enough
		{6, false}, {6, false}, // too soon after the last time
	} {
		if got := look(story.requests); got != story.due {
			t.Errorf("look %d: %v", i, got)
		}
	}
	now = now.Add(minTidyInterval)
	if !look(6) {
		t.Error("later it is due again")
	}
}
