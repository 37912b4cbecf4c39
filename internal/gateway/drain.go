package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// ask counts a request that a drain waits for, or refuses it because there is
// one already.
func (g *Gateway) ask(messages []message) *refusal {
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

// answered ends what ask began.
func (g *Gateway) answered() {
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

// Hurry makes a stop under way skip its waits.
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

// lastWords: answers given at the very end still have to be written. A client
// that does not take them within this time is left.
const lastWords = 2 * time.Second

// drain is the end, in order: nothing new is taken, those who only listen are
// let go, those who wait for an answer get theirs or, when the time is over,
// an honest one of ours, and then the servers stop.
func (g *Gateway) drain(server *http.Server) {
	g.mu.Lock()
	g.draining = true
	g.checkQuiet()
	var listeners []interface{ silence() }
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
		server.Shutdown(ctx) // closes the listener at once, then waits for the handlers
	}()
	for _, l := range listeners {
		l.silence()
	}
	timer := time.NewTimer(max(g.Drain, 0))
	defer timer.Stop()
	select {
	case <-g.quiet:
	case <-timer.C:
	case <-g.hurry:
	}
	g.end()
	g.running.Wait() // every request has its answer, every process is gone
	timer.Reset(lastWords)
	select {
	case <-closed:
	case <-timer.C:
		cancel()
		server.Close()
		<-closed
	}
}
