package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// surviveReaders makes a write to a reader that is gone fail instead of ending gauze. [signal.Ignore]
// would change the servers that gauze starts as well: they would not end where they end without it.
func surviveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// untilSignal returns a context that is cancelled by the first SIGINT, SIGTERM or, unless gauze was
// started with nohup, SIGHUP. It calls again for every later one.
func untilSignal(parent context.Context, again func()) (ctx context.Context, release func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return until(parent, again, signals...)
}

// untilInterrupted is untilSignal for a command that SIGHUP does not end.
func untilInterrupted(parent context.Context, again func()) (ctx context.Context, release func()) {
	return until(parent, again, os.Interrupt, syscall.SIGTERM)
}

func until(parent context.Context, again func(), which ...os.Signal) (ctx context.Context, release func()) {
	ctx, stop := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, which...)
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
