package gateway

import (
	"runtime"
	"runtime/debug"
	"time"
)

// tidier gives back the memory that a busy time took, once it is over: a
// thousand clients that only listen need little, but what their greetings took
// would stay for minutes, buffers and grown stacks alike.
type tidier struct {
	seen  uint64 // requests, at the last look
	calm  int    // looks since the last request
	dirty bool   // there were some since we last tidied up
	last  time.Time
}

// Calm is when nobody asked anything for two looks; and who asks now and then
// is not to pay for it all the time.
const (
	lookEvery = time.Second
	calmAfter = 2
	tidyApart = 5 * time.Second
)

// due reports whether it is time, given the number of requests so far.
func (t *tidier) due(requests uint64, now time.Time) bool {
	if requests != t.seen {
		t.seen, t.calm, t.dirty = requests, 0, true
		return false
	}
	t.calm++
	if !t.dirty || t.calm < calmAfter || !t.last.IsZero() && now.Sub(t.last) < tidyApart {
		return false
	}
	t.dirty, t.last = false, now
	return true
}

// tidyUp collects twice, because a stack is halved at a time, and returns what
// is free to the system.
func tidyUp() {
	runtime.GC()
	debug.FreeOSMemory()
}
