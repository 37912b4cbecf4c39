package main

import (
	"context"
	"os"
	"time"
)

// readerCheck is the time between two checks whether our stdout has a reader.
const readerCheck = 100 * time.Millisecond

// untilUnread returns once our stdout has no reader, or ctx has ended. A file always can be read.
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
