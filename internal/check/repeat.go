package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A recovery that works three times in four does not work. Much of a recovery is waiting, so the repeats run side
// by side, which also shows what only works on an idle machine.
const (
	repeats = 4
	abreast = 2
	// Those over HTTP wait for whole seconds, as Retry-After counts, and start no process that could come too late.
	repeatsHTTP = 2
)

// repeatFaults runs the named faults often.
func repeatFaults(ctx context.Context, out io.Writer) (tally, error) {
	share := goTest("-race", fmt.Sprintf("-count=%d", repeats/abreast), "-timeout", "10m", "-run", "^TestFault", "-skip", "^TestFaultW", "./internal/proxy/...")
	overHTTP := goTest("-race", fmt.Sprintf("-count=%d", repeatsHTTP), "-timeout", "10m", "-run", "^TestFaultW", "./internal/proxy/...", "./internal/gateway/...")
	shown := &oneAtATime{w: out}
	tallies, errs := make([]tally, abreast+1), make([]error, abreast+1)
	var wg sync.WaitGroup
	for i := range abreast {
		wg.Go(func() { tallies[i], errs[i] = share(ctx, shown) })
	}
	wg.Go(func() { tallies[abreast], errs[abreast] = overHTTP(ctx, shown) })
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

// oneAtATime keeps the writes of several runs whole.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
