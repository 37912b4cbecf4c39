package gateway

import (
	"runtime"
	"runtime/debug"
	"time"
)

// tidier frees the memory that a busy time used, once it is over. A thousand clients that only
// listen need little, but what their handshakes used would stay for minutes, as buffers and grown
// stacks.
type tidier struct {
	seen  uint64 // requests, at the last check
	calm  int    // checks since the last request
	dirty bool   // there were requests since memory was last freed
	last  time.Time
}

// Memory is freed after two checks without a request, and not too often for clients with few
// requests.
const (
	checkInterval   = time.Second
	idleChecks      = 2
	minTidyInterval = 5 * time.Second
)

// due reports whether memory should be freed, given the number of requests so far.
func (t *tidier) due(requests uint64, now time.Time) bool {
	if requests != t.seen {
		t.seen, t.calm, t.dirty = requests, 0, true
		return false
	}
	t.calm++
	recently := !t.last.IsZero() && now.Sub(t.last) < minTidyInterval
	if !t.dirty || t.calm < idleChecks || recently {
		return false
	}
	t.dirty, t.last = false, now
	return true
}

// tidyUp collects garbage twice, because a stack is halved at a time, and returns free memory to
// the system.
func tidyUp() {
	runtime.GC()
	debug.FreeOSMemory()
}
