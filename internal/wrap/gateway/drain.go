package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/fault"
)

// beginRequest counts a request that a drain waits for. It returns a refusal if the gateway is
// draining.
func (t *table) beginRequest(messages []message) *refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining {
		refused := stopping()
		refused.id = messages[0].callID()
		return refused
	}
	t.asked++
	return nil
}

// endRequest ends what beginRequest began.
func (t *table) endRequest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked--
	t.checkQuiet()
}

func (t *table) checkQuiet() {
	if t.draining && t.asked == 0 {
		select {
		case <-t.quiet:
		default:
			close(t.quiet)
		}
	}
}

func (t *table) isDraining() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.draining
}

func stopping() *refusal {
	refused := busy(&fault.Fault{Code: fault.Stopping, Delivery: fault.Unsent, At: time.Now()}, nil)
	refused.header("Connection", "close")
	return refused
}

// Hurry makes a stop that is in progress skip its waits.
func (g *Gateway) Hurry() {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	select {
	case <-g.hurry:
	default:
		close(g.hurry)
	}
	for l := range g.table.lives {
		l.peer.Hurry()
	}
}

// flushTimeout is how long clients may take to read the last responses.
const flushTimeout = 2 * time.Second

// Shutdown closes an HTTP server whose requests gateways handle: it accepts nothing new, lets end end them, and then
// gives clients a moment to read their last responses.
func Shutdown(server *http.Server, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		server.Shutdown(ctx) // closes the listener immediately, then waits for the handlers
	}()
	end()
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
		cancel()
		server.Close()
		<-closed
	}
}

// drain stops the gateway in order: it accepts nothing new, ends the streams of listeners, waits
// until pending requests have their responses or the time is over, and stops the servers.
func (g *Gateway) drain() {
	g.table.mu.Lock()
	g.table.draining = true
	g.table.checkQuiet()
	var listeners []interface{ endListeners() }
	for _, s := range g.table.sessions {
		listeners = append(listeners, s)
	}
	for _, s := range g.table.shared {
		listeners = append(listeners, s)
	}
	g.table.mu.Unlock()
	for _, l := range listeners {
		l.endListeners()
	}
	timer := time.NewTimer(max(g.Drain, 0))
	defer timer.Stop()
	select {
	case <-g.table.quiet:
	case <-timer.C:
	case <-g.hurry:
	}
	g.table.end()
	g.table.running.Wait() // every request has its response, every process is gone
}
