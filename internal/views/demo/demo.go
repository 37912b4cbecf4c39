// Package demo shows how gauze recovers from failures: it drives a server of its own through a real
// session, breaks it in many ways, and compares the responses with what the server really did.
//
//	demo.go    Run, and the scenes in their order
//	scenes.go  what is broken in each scene
//	client.go  a minimal MCP client
//	model.go   the model that corrects a call
//	task.go    the task that is stopped and resumed
//	screen.go  the timeline that the user sees
//	fold.go    the width of a line
//	signal_*, stopped_*   how a server is killed and suspended
//	tally.go   the count at the end, and the guarantees it checks
//
// Package breakable is the server.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/demo/breakable"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/llm"
)

// Options are the settings of a demo.
type Options struct {
	Color terminal.Paint
	// Model corrects a call that no rule can repair. Default: a scripted one, over HTTP.
	Model llm.Model
	// ModelTimeout is how long the call waits for the model.
	ModelTimeout time.Duration

	// StateDir keeps the task and, if Show records them, the events. Default: a temporary directory.
	StateDir string
	// Show makes the session and all events visible elsewhere until end is called. It may be nil.
	Show func(*proxy.Session, *event.Stream) (end func())
	// Stay is called at the end, while the session is still running. It may be nil.
	Stay func(context.Context)
}

// stage is what the scenes have in common.
type stage struct {
	*client
	screen *screen
	tally  *tally
	server *server
	events *event.Stream
	shown  *event.Stream // all events but marks
	marks  chan struct{}
	model  *sceneModel
	state  string // the state directory
	ledger string
}

// callTimeout limits a call without progress.
const callTimeout = 20 * time.Second

// hangGrace is how long a silent server may be stopped or use no CPU.
const hangGrace = 600 * time.Millisecond

// mark is an event of the demo itself. When it comes back, everything before it is on the screen.
const mark event.Kind = "demo-mark"

func (s *stage) catchUp() {
	s.events.Emit(event.Event{Kind: mark})
	<-s.marks
}

// Run plays all scenes. It returns an error if a guarantee was violated.
func Run(ctx context.Context, w io.Writer, o Options) error {
	model, closeModel, err := o.sceneModel()
	if err != nil {
		return err
	}
	defer closeModel()
	dir, err := os.MkdirTemp("", "gauze-demo-")
	if err != nil {
		return fmt.Errorf("cannot create a directory for the server's ledger: %w", err)
	}
	defer os.RemoveAll(dir)
	ledger := filepath.Join(dir, "ledger")

	events := event.New()
	session := proxy.New(proxy.Options{
		Name: "faulty server",
		Spec: spec(ledger),
		// The usual rules with shorter timeouts, so that the user does not watch a server hang for a
		// minute.
		Timing:  proxy.Timing{Timeout: callTimeout, ProbeInterval: 150 * time.Millisecond, ProbeTimeout: 150 * time.Millisecond, HangGrace: hangGrace},
		Restart: upstream.Restart{Backoff: 10 * time.Millisecond, Limit: -1},
		Events:  events,
		Models:  model.asked, Waits: proxy.Waits{Model: o.ModelTimeout},
		// The server does not validate the arguments of this tool, so gauze does.
		Tools: map[string]proxy.Policy{misfitTool: {Repair: "strict", Timeout: callTimeout + o.ModelTimeout}},
	})
	s := &stage{screen: newScreen(w, o.Color), tally: newTally(), server: newServer(), events: events, shown: event.New(), marks: make(chan struct{}, 1), model: model, state: cmp.Or(o.StateDir, filepath.Join(dir, "journal")), ledger: ledger}
	toServer, clientWrites := io.Pipe()
	s.client = newClient(clientWrites, s.tally)
	if o.Show != nil {
		defer o.Show(session, s.shown)()
	}
	heard, stop := events.Subscribe(4096)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for e := range heard {
			if e.Kind == mark {
				s.marks <- struct{}{}
				continue
			}
			s.shown.Emit(e)
			s.server.note(e)
			s.screen.event(e)
		}
	}()
	ended := make(chan error, 1)
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	go func() { ended <- session.Serve(ctx, toServer, s.client) }()

	s.screen.opening()
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute+o.ModelTimeout)
	defer cancel()
	playErr := s.play(limited)
	var judgeErr error
	if playErr == nil {
		s.catchUp()
		judgeErr = s.judge(session)
		if o.Stay != nil {
			o.Stay(ctx)
		}
	}
	clientWrites.Close()
	serveErr := <-ended
	stop()
	<-watching
	toServer.Close()
	if playErr != nil {
		return playErr
	}
	if serveErr != nil {
		return serveErr
	}
	return judgeErr
}

// spec returns how gauze starts the server.
func spec(ledger string, flags ...string) launch.Spec {
	cmd := breakable.Command(ledger, flags...)
	return launch.Spec{Command: cmd.Path, Args: cmd.Args[1:], Env: cmd.Env}
}

// judge compares the responses with the server's ledger, and returns an error if a guarantee was
// violated.
func (s *stage) judge(session *proxy.Session) error {
	entries, err := breakable.ReadLedger(s.ledger)
	if err != nil {
		return fmt.Errorf("cannot read the server's ledger: %w", err)
	}
	verdict := s.tally.judge(entries, session.Counters(), session.Upstream().Snapshot())
	s.screen.closing(verdict)
	if len(verdict.broken) > 0 {
		return fmt.Errorf("a guarantee was violated: %s", verdict.broken[0])
	}
	return nil
}

// play runs the scenes.
func (s *stage) play(ctx context.Context) error {
	if err := s.initialize(ctx); err != nil {
		return fmt.Errorf("cannot connect to the embedded server: %w", err)
	}
	for i, scene := range scenes {
		s.screen.scene(i+1, len(scenes), scene.title, scene.about)
		if err := scene.run(ctx, s); err != nil {
			return fmt.Errorf("scene %d (%s): %w", i+1, scene.title, err)
		}
		if err := s.server.awaitStart(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}
