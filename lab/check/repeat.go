package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Recoveries must work every time, so the named faults are repeated. Much of a recovery is waiting,
// so the repeats run concurrently, which also reveals what works only on an idle machine.
const (
	repeats      = 2 // the step test runs them as well
	parallelRuns = 2
	// The faults over HTTP wait for whole seconds, the unit of Retry-After, and start no process
	// that could be late.
	repeatsHTTP = 2
	// bulky faults send many megabytes, which takes as long as all others together and shows no more
	// the second time.
	bulky = "^TestFaultW06|^TestFaultW09ConnectionBreaks"
)

// repeatFaults runs the tests of the named faults several times.
func repeatFaults(ctx context.Context, out io.Writer) (tally, error) {
	share := goTest("-race", fmt.Sprintf("-count=%d", repeats/parallelRuns), "-timeout", "10m", "-run", "^TestFault", "-skip", "^TestFaultW", "./internal/proxy/...")
	overHTTP := goTest("-race", fmt.Sprintf("-count=%d", repeatsHTTP), "-timeout", "10m", "-run", "^TestFaultW", "-skip", bulky, "./internal/proxy/...", "./internal/gateway/...")
	shown := &oneAtATime{w: out}
	tallies, errs := make([]tally, parallelRuns+1), make([]error, parallelRuns+1)
	var wg sync.WaitGroup
	for i := range parallelRuns {
		wg.Go(func() { tallies[i], errs[i] = share(ctx, shown) })
	}
	wg.Go(func() { tallies[parallelRuns], errs[parallelRuns] = overHTTP(ctx, shown) })
	wg.Wait()
	var total tally
	for _, t := range tallies {
		total = total.plus(t)
	}
	err := errors.Join(errs...)
	if err == nil && total.passed == 0 {
		err = errors.New("no test in internal/proxy has a name that starts with TestFault")
	}
	return total, err
}

// oneAtATime serializes the writes of several runs.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
