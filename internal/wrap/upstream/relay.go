package upstream

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gauze-mcp/gauze/fault"
)

// relay passes bytes on without blocking the writer: a server blocks when its stderr is not read.
// Bytes that arrive faster than they can be written, or faster than relayRate, are dropped and
// counted.
type relay struct {
	w       io.Writer
	mu      sync.Mutex
	more    sync.Cond
	buf     []byte
	dropped int64
	closed  bool
	running bool
	done    chan struct{}
}

const (
	relayBuffer = 256 << 10
	relayBurst  = 1 << 20   // a long stack trace, a verbose start
	relayRate   = 256 << 10 // bytes per second after that
)

func newRelay(w io.Writer) *relay {
	r := &relay{w: w, done: make(chan struct{})}
	r.more.L = &r.mu
	return r
}

func (r *relay) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.buf)+len(b) > relayBuffer {
		r.dropped += int64(len(b))
		return len(b), nil
	}
	r.buf = append(r.buf, b...)
	if !r.running && len(b) > 0 {
		r.running = true // on the first output: many servers never write any
		go r.serve()
	}
	r.more.Signal()
	return len(b), nil
}

func (r *relay) serve() {
	defer close(r.done)
	limiter := rate.NewLimiter(relayRate, relayBurst)
	server := disowner{w: r.w}
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for len(r.buf) == 0 && !r.closed {
			r.more.Wait()
		}
		if len(r.buf) == 0 {
			r.mu.Unlock()
			server.flush()
			r.mu.Lock()
			return
		}
		batch, dropped := r.buf, r.dropped
		r.buf, r.dropped = nil, 0
		r.mu.Unlock()
		if dropped > 0 {
			server.flush()
			fmt.Fprintf(r.w, "\n%s %d bytes of the server's stderr were skipped\n", fault.LogMark, dropped)
		}
		server.Write(batch)
		r.rest(limiter.ReserveN(time.Now(), len(batch)).Delay())
		r.mu.Lock()
	}
}

// rest waits while a flood passes. close ends the wait.
func (r *relay) rest(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.more.Broadcast()
	})
	defer timer.Stop()
	until := time.Now().Add(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	for time.Now().Before(until) && !r.closed {
		r.more.Wait()
	}
}

// relayCloseTimeout limits how long a reader of gauze's stderr that does not read can delay close.
const relayCloseTimeout = 200 * time.Millisecond

// close passes on what is left if that is possible within relayCloseTimeout.
func (r *relay) close() {
	r.mu.Lock()
	r.closed = true
	running := r.running
	r.more.Broadcast()
	r.mu.Unlock()
	if !running {
		return
	}
	select {
	case <-r.done:
	case <-time.After(relayCloseTimeout):
	}
}
