package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A process that allocates little does not collect garbage, not even every two minutes as the runtime does; one
// that allocates much collects as usual until it has nothing to do.
func TestGarbageIsCollectedOnlyForWork(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	synctest.Test(t, func(*testing.T) { busyWrap.work() })
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Errorf("after the work the garbage is collected by %d percent, want none", got)
	}
	if got := debug.SetMemoryLimit(-1); got == math.MaxInt64 {
		t.Fatal("after the work the memory has no limit: nothing would ever be collected")
	}
	runtime.GC()
	for ctx := patience.Context(t); debug.SetMemoryLimit(-1) != math.MaxInt64; runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatal("the memory is still limited after a collection")
		}
	}
	if got := debug.SetGCPercent(100); got != int(busyWrap) {
		t.Errorf("after a collection the garbage is collected by %d percent, want %d", got, busyWrap)
	}
}
