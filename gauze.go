// Package gauze wraps an MCP server so that it heals: it is restarted when it
// dies, replaced when it hangs, its session is restored, and what is provably
// safe is sent again, so that every request gets exactly one answer and no
// side effect happens twice.
//
//	Wrap             one client, one server, healed in between            (gauze.go)
//	Transport        the same as an mcp.Transport for any go-sdk client   (transport.go)
//	RepairArguments  a tool call's arguments, repaired or explained       (repair.go)
//	Middleware       the same for any go-sdk server                       (middleware.go)
//
// A Go program that uses the official SDK needs one line:
//
//	session, err := client.Connect(ctx, &gauze.Transport{Command: []string{"npx", "-y", "some-server"}}, nil)
package gauze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Options of a wrapped server. Only Command or URL is needed; every other zero
// value is the sensible default.
type Options struct {
	Command []string // program and arguments
	Dir     string   // working directory; default ours
	Env     []string // whole environment; nil: ours

	URL    string      // of a server to reach over HTTP, instead of a command
	Header http.Header // for every request to it, such as Authorization

	Name string // shown to people; default the command line or the address

	Timeout       time.Duration // of a call without progress; default: no limit
	MaxTime       time.Duration // of a call with progress; default: no limit
	Patience      time.Duration // of a call while the server is down; default 30 s
	StartTimeout  time.Duration // until the first answer; default 10 s, 60 s for npx, uvx, docker
	ProbeInterval time.Duration // of silence while a call waits, before the server is probed; default 15 s
	ProbeTimeout  time.Duration // default 5 s
	HangGrace     time.Duration // without CPU, or stopped, before a silent server is replaced; default 10 s

	Repair      string            // of calls that do not fit their tool: off, silent, report, strict; default: repaired, or sent as they came
	Tools       map[string]Policy // what you decide per tool, over the tool's own hints
	Window      int               // unsafe calls in flight; 0: no limit, 1 after a crash, slowly more
	RetryBudget int               // repetitions in a burst; default 256, negative: no limit
	Quarantine  time.Duration     // of a call that was there at two deaths in a row; default 5 min, negative: never
	Restart     Restart
	NoHeal      bool // of a server that cannot be kept running only the cause is told; no other way to start or reach it is tried

	Stderr  io.Writer   // gets the server's stderr; nil: nowhere
	OnEvent func(Event) // gets what happens, from a goroutine of its own
}

// Policy is what you decide for one tool.
type Policy = proxy.Policy

// Restart says how eagerly a server is brought back.
type Restart = upstream.Restart

// Event is something that happened to the server or to a call.
type Event = event.Event

// Fault is what broke, how far the request got, and what to do.
type Fault = fault.Fault

// Health is the state of the server with its counters.
type Health = health.Snapshot

// Counters of a wrapped server's calls.
type Counters = proxy.Counters

// Recovery is one return from the dead.
type Recovery = upstream.Recovery

// Wrap is one client talking to one server, healed in between.
type Wrap struct {
	session *proxy.Session
	events  *event.Stream
	onEvent func(Event)
}

// New prepares a wrap; Serve runs it.
func New(o Options) (*Wrap, error) {
	spec, err := o.spec()
	if err != nil {
		return nil, err
	}
	events := event.New(1024)
	return &Wrap{
		events:  events,
		onEvent: o.OnEvent,
		session: proxy.New(proxy.Options{
			Spec: spec,
			Name: o.Name, Tools: o.Tools, Repair: o.Repair,
			Timeout: o.Timeout, MaxTime: o.MaxTime, Patience: o.Patience, StartTimeout: o.StartTimeout,
			ProbeInterval: o.ProbeInterval, ProbeTimeout: o.ProbeTimeout, HangGrace: o.HangGrace,
			Window: o.Window, RetryBudget: o.RetryBudget, Quarantine: o.Quarantine, Restart: o.Restart,
			Doctor: doctor.Live(doctor.ThisMachine(), !o.NoHeal),
			Stderr: o.Stderr, Events: events,
		}),
	}, nil
}

// spec is the server: a command or a URL, and not both.
func (o Options) spec() (spec upstream.Spec, err error) {
	switch {
	case o.URL == "" && (len(o.Command) == 0 || o.Command[0] == ""):
		return spec, errors.New("no server: set Command to its program, as in []string{\"npx\", \"-y\", \"some-server\"}, or URL to its address")
	case o.URL == "":
		return upstream.Spec{Command: o.Command[0], Args: o.Command[1:], Dir: o.Dir, Env: o.Env}, nil
	case len(o.Command) > 0:
		return spec, errors.New("a Command and a URL: set one of them")
	}
	if err := upstream.CheckURL(o.URL); err != nil {
		return spec, fmt.Errorf("the option URL: %w", err)
	}
	spec.URL = o.URL
	for name, values := range o.Header {
		for _, value := range values {
			if err := upstream.CheckHeader(name, value); err != nil {
				return spec, fmt.Errorf("a header for the URL: %w", err)
			}
			spec.Header = append(spec.Header, upstream.Header{Name: name, Value: value, Source: "Options.Header"})
		}
	}
	return spec, nil
}

// Serve connects the client that speaks on in and listens on out, until in
// ends or ctx does. It returns when nothing of the server is left; the error
// says why the server could not be kept running, if it could not.
func (w *Wrap) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if w.onEvent != nil {
		heard, stop := w.events.Subscribe(1024)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e := range heard {
				w.onEvent(e)
			}
		}()
		defer func() { stop(); <-done }()
	}
	return w.session.Serve(ctx, in, out)
}

// Hurry makes a stop under way skip the wait for the server to end by itself.
func (w *Wrap) Hurry() { w.session.Hurry() }

// Health is a snapshot of the server's state.
func (w *Wrap) Health() Health { return w.session.Upstream().Snapshot() }

// Counters is a snapshot of what became of the calls.
func (w *Wrap) Counters() Counters { return w.session.Counters() }

// Recoveries are the returns from the dead so far.
func (w *Wrap) Recoveries() []Recovery { return w.session.Upstream().Recoveries() }
