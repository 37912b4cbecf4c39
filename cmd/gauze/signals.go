package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends at the first signal to stop, and
// calls again for every later one. Ctrl-C, SIGTERM and a hangup are such
// signals, unless gauze was started with nohup.
func untilSignal(parent context.Context, again func()) (ctx context.Context, release func()) {
	ctx, stop := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	over := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
				if ctx.Err() != nil {
					again()
				}
				stop()
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		stop()
	}
}
