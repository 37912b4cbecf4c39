package main

import (
	"context"
	"os"
	"time"
)

// readerCheck is how often it is checked whether somebody reads our stdout.
const readerCheck = 100 * time.Millisecond

// untilUnread returns once nobody can read what we write to stdout, or ctx has ended. A file always can
// be read.
func untilUnread(ctx context.Context) {
	look := time.NewTicker(readerCheck)
	defer look.Stop()
	for !readerGone(os.Stdout) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
