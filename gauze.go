// Package gauze keeps MCP servers usable. It restarts a server that exits, replaces one that hangs,
// restores its session, and sends again what is provably safe to repeat, so that every request gets
// exactly one response and no side effect happens twice because of a restart.
//
// A client that uses the official Go SDK connects through a [Transport]:
//
//	transport, err := gauze.NewTransport(gauze.Options{Command: []string{"npx", "-y", "some-server"}})
//	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
//	session, err := client.Connect(ctx, transport, nil)
//
// The session stays connected while the server is restarted. What cannot be repeated safely is
// answered with a [fault.Fault], which [FaultOf] finds in a result or an error:
//
//	result, err := session.CallTool(ctx, params)
//	if f := gauze.FaultOf(result); f != nil && f.Advice() == fault.VerifyFirst {
//		// The call may have taken effect. Check before repeating it.
//	}
//
// A server that uses the official Go SDK repairs or explains invalid tool calls with [Middleware].
//
// Other packages:
//
//	fault    what failed, how far the request got, what to do next
//	event    what happens to a server and its calls
//	health   how a server is doing
//	repair   repairs the arguments of tool calls, for any function that runs a tool
//	task     tasks that keep their place; whether a failing server is worth waiting for
//	llm      models that answer with JSON
//	doctor   tests, diagnoses, heals and configures servers as the gauze command does
package gauze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Wrap connects one client, which reads and writes MCP messages on streams, to one server and keeps
// the server usable. It is what gauze run does. Go clients use a [Transport].
type Wrap struct {
	session *proxy.Session
	remote  *upstream.Remote // nil if the session has its own
	events  *event.Stream
	options Options
	served  atomic.Bool // Serve was called
}

// New returns a Wrap that is run by [Wrap.Serve]. It returns an error if o is invalid. A later change of the
// slices and maps in o has no effect.
func New(o Options) (*Wrap, error) {
	o = o.owned()
	if err := o.check(); err != nil {
		return nil, err
	}
	remote, err := o.remote()
	if err != nil {
		return nil, err
	}
	events := event.New()
	session := o.session(remote)
	session.Events = events
	return &Wrap{remote: remote, events: events, options: o, session: proxy.New(session)}, nil
}

// Serve forwards messages between the client, which writes to in and reads from out, and the server
// until in ends or ctx is done. It returns after the server has stopped. The error says why the
// server could not be kept running; [FaultOf] returns its details.
//
// A Wrap serves one client, once: a second call returns an error and reads nothing.
func (w *Wrap) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if w.served.Swap(true) {
		return errors.New("gauze: Wrap.Serve was called before: make a new Wrap for each client")
	}
	defer w.observe(ctx)()
	if w.remote != nil {
		defer w.remote.Close()
	}
	return withFault(w.session.Serve(ctx, in, out))
}

// observe reports events to OnEvent and Logger until the function it returns is called.
func (w *Wrap) observe(ctx context.Context) (stop func()) {
	onEvent, logger := w.options.OnEvent, w.options.Logger
	if onEvent == nil && logger == nil {
		return func() {}
	}
	events, unsubscribe := w.events.Subscribe(1024)
	done := make(chan struct{})
	go func() {
		defer close(done)
		stopping := false
		for e := range events {
			stopping = stopping || e.Kind == event.Stopping
			if logger != nil {
				e.Log(ctx, logger, stopping)
			}
			if onEvent != nil {
				onEvent(e)
			}
		}
	}()
	return func() { unsubscribe(); <-done }
}

// Hurry makes a Serve that is returning stop the server immediately instead of waiting for it to
// exit.
func (w *Wrap) Hurry() { w.session.Hurry() }

// Reconnect replaces the server's process or connection and keeps the session. It waits until no call is in
// flight, and then until the server is ready; calls that arrive meanwhile wait for it. A server that is down
// is tried immediately, whatever wait was due. The error says why the server is not available, or that ctx
// ended first.
func (w *Wrap) Reconnect(ctx context.Context) error {
	if err := w.session.Restart(ctx); err != nil {
		return withFault(fmt.Errorf("gauze: %w", err))
	}
	return nil
}

// Health returns the server's current state.
func (w *Wrap) Health() health.Snapshot { return w.session.Upstream().Snapshot() }

// Failures returns the last failures of the server, oldest first.
func (w *Wrap) Failures() []health.Failure { return w.session.Upstream().Failures() }

// Outage returns why the server is unavailable. It is nil if the server is connected or being started.
func (w *Wrap) Outage() *health.Outage {
	t := w.session.Trouble()
	if t == nil {
		return nil
	}
	return &health.Outage{
		Code: t.Code, Detail: redact.Passage(t.Detail), Cause: t.Cause, Since: t.Since, Attempts: t.Attempts, NextTry: t.NextTry,
		Permanent: t.Permanent, Certain: t.Certain(),
	}
}

// Counters returns what happened to the calls so far.
func (w *Wrap) Counters() Counters { return Counters(w.session.Counters()) }

// Recoveries returns the restarts of the server so far, oldest first.
func (w *Wrap) Recoveries() []health.Recovery { return w.session.Upstream().Recoveries() }
