package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// beginRequest counts a request that a drain waits for. It returns a refusal if the gateway is
// draining.
func (g *Gateway) beginRequest(messages []message) *refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining {
		refused := stopping()
		refused.id = messages[0].callID()
		return refused
	}
	g.asked++
	return nil
}

// endRequest ends what ask began.
func (g *Gateway) endRequest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked--
	g.checkQuiet()
}

func (g *Gateway) checkQuiet() {
	if g.draining && g.asked == 0 {
		select {
		case <-g.quiet:
		default:
			close(g.quiet)
		}
	}
}

func (g *Gateway) isDraining() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.draining
}

func stopping() *refusal {
	refused := busy(&fault.Fault{Code: fault.Stopping, Delivery: fault.Unsent, At: time.Now()}, nil)
	refused.header("Connection", "close")
	return refused
}

// Hurry makes a stop that is in progress skip its waits.
func (g *Gateway) Hurry() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.hurry:
	default:
		close(g.hurry)
	}
	for l := range g.lives {
		l.proxy.Hurry()
	}
}

// flushTimeout is how long clients may take to read the last responses.
const flushTimeout = 2 * time.Second

// drain stops the gateway in order: it accepts nothing new, ends the streams of listeners, waits
// until pending requests have their responses or the time is over, and stops the servers.
func (g *Gateway) drain(server *http.Server) {
	g.mu.Lock()
	g.draining = true
	g.checkQuiet()
	var listeners []interface{ endListeners() }
	for _, s := range g.sessions {
		listeners = append(listeners, s)
	}
	for _, s := range g.shared {
		listeners = append(listeners, s)
	}
	g.mu.Unlock()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		server.Shutdown(ctx) // closes the listener immediately, then waits for the handlers
	}()
	for _, l := range listeners {
		l.endListeners()
	}
	timer := time.NewTimer(max(g.Drain, 0))
	defer timer.Stop()
	select {
	case <-g.quiet:
	case <-timer.C:
	case <-g.hurry:
	}
	g.end()
	g.running.Wait() // every request has its response, every process is gone
	timer.Reset(flushTimeout)
	select {
	case <-closed:
	case <-timer.C:
		cancel()
		server.Close()
		<-closed
	}
}
