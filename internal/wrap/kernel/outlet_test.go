package kernel

import (
	"testing"
	"time"
)

// slowReader takes a little of what is written to it, then waits.
type slowReader struct {
	t     *testing.T
	out   *outlet
	clock time.Time
	taken int
}

func (r *slowReader) Write(b []byte) (int, error) {
	for rest := len(b); rest > 0; rest -= outletPiece {
		r.clock = r.clock.Add(2 * time.Second)
		if r.out.stuck(r.clock) {
			r.t.Fatalf("a reader that has taken %d bytes is said not to read", r.taken)
		}
		r.taken += min(rest, outletPiece)
	}
	return len(b), nil
}

// A client that reads a long message slowly does read.
func TestASlowReaderIsNotStuck(t *testing.T) {
	out := &outlet{failed: make(chan struct{})}
	reader := &slowReader{t: t, out: out, clock: time.Now()}
	out.w = reader
	const size = 10*outletPiece + 1
	out.stream(make([]byte, size))
	if reader.taken != size {
		t.Errorf("%d of %d bytes were written", reader.taken, size)
	}
}
