package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Dozens of wraps may run on one machine, and most of them wait. The Go runtime collects garbage every two
// minutes even if there is none, which wakes the threads of a process dozens of times, and its first collection
// takes half a megabyte for tables that it keeps. So a process that allocates little does not collect.
const (
	firstLimit = 12 << 20         // of all memory, about half of which the runtime only reserves
	restMemory = 4 << 20          // what is allocated at rest before garbage is collected; the runtime deducts 1 MB
	restAfter  = 10 * time.Second // without a collection
)

// busy is by how much the heap grows during work until garbage is collected, in percent of what is in use, and of
// 4 MB at least.
type busy int

const (
	busyWrap    busy = 50
	busyGateway busy = 200 // one process for many clients: it would collect every hundred calls
)

// reduceMemory keeps a process that waits small and asleep. It does nothing if the user has set GOGC or
// GOMEMLIMIT.
func reduceMemory(b busy) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		b.rest(firstLimit)
	}
}

// rest turns collections off until the process needs more memory than limit.
func (b busy) rest(limit uint64) {
	debug.SetMemoryLimit(int64(limit))
	debug.SetGCPercent(-1)
	runtime.AddCleanup(new([64]byte), func(struct{}) { go b.work() }, struct{}{}) // last: work must not set what is then set here
}

// work collects as usual, until nothing was collected for restAfter. Then it frees what the work has left, and
// rests.
func (b busy) work() {
	debug.SetGCPercent(int(b))
	debug.SetMemoryLimit(math.MaxInt64)
	var before, now runtime.MemStats
	for runtime.ReadMemStats(&now); now.NumGC != before.NumGC; runtime.ReadMemStats(&now) {
		before = now
		time.Sleep(restAfter)
	}
	runtime.GC() // what is in a sync.Pool is freed by the second collection
	debug.FreeOSMemory()
	runtime.ReadMemStats(&now)
	b.rest(now.Sys - now.HeapReleased + restMemory)
}
