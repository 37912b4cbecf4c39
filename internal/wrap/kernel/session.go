package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// States of a server beside those of its health.
const (
	StateStarting = "starting" // before the first connection
	StateAsleep   = "asleep"   // nothing needs it, and no process runs: the next call starts it
)

// Session connects one client and one server. Its parts are in the files of their names; the lock guards all of
// them, except for what guards itself.
type Session struct {
	config Options
	up     *upstream.Upstream
	out    outlet
	spare  spare

	mu         sync.Mutex // guards everything below
	link       link
	table      table
	ids        ids
	order      order
	quarantine quarantine
	budget     budget
	memory     memory
	catalog    catalog

	panel      panel
	client     client
	server     server
	dialogue   dialogue
	listing    listing
	restorer   restorer
	watcher    watcher
	likeness   likeness
	restarting restarting
	sleep      sleep
	leaving    leaving
	work       work

	effects  []func() // to run once mu is free
	check    func(*Session)
	counters Counters
}

// link is the connection to the server.
type link struct {
	conn    *upstream.Conn
	outside atomic.Pointer[upstream.Conn] // the same, for those who do not hold the lock
	upSince time.Time                     // when conn was published
	trouble *upstream.Trouble             // why conn is nil; nil: the server is being started
	away    bool                          // a server that worked is down
}

// work is what goes on beside the traffic.
type work struct {
	life       context.Context // ends when the session is being closed
	endLife    context.CancelFunc
	background sync.WaitGroup // requests of our own, and what stages do
	placed     int            // responses that follow in their place, and work beside them
}

// Counters counts what a session has seen.
type Counters struct {
	Calls, Answered, Failed, Unknown, Replayed, Late, Foreign, Stray, FromCache uint64
}

// checkInTests checks a session after every update. It is nil except in tests, where an illegal
// move panics as well.
var checkInTests func(*Session)

// New returns a Session; Serve or Attend runs it.
func New(o Options) *Session {
	o.Timing, o.Limits = o.Timing.withDefaults(), o.Limits.withDefaults()
	if o.Writes == nil {
		o.Writes = new(atomic.Uint64)
	}
	s := &Session{config: o, check: checkInTests, catalog: newCatalog()}
	s.catalog.exact, s.catalog.read, s.catalog.ready = o.Sure, o.ReadTool, o.Listed
	s.memory.subscriptions = map[string][]byte{}
	s.quarantine = quarantine{last: map[uint64]bool{}, barred: map[uint64]time.Time{}}
	if o.Limits.RetryBudget > 0 {
		s.budget.size = float64(o.Limits.RetryBudget)
	}
	s.work.life, s.work.endLife = context.WithCancel(context.Background())
	s.ids = ids{s: s, lastID: o.LastID}
	s.table = table{s: s, calls: newCallsByID(), flight: map[uint64]*Call{}, opened: map[uint64]*Call{}, tokens: newTokens()}
	s.table.roomy.L = &s.mu
	s.order = order{s: s, admission: admission{fixed: o.Limits.Window, tools: map[string]int{}}}
	s.panel = newPanel(s, o.Stages)
	s.client.s, s.listing.s, s.restorer.s, s.likeness.s, s.restarting.s = s, s, s, s, s
	s.server = server{s: s, tasks: map[string]bool{}, late: map[uint64]bool{}, notices: newNotices()}
	s.dialogue = dialogue{s: s, questions: map[string]*question{}}
	s.watcher = watcher{s: s, wake: make(chan struct{}, 1)}
	s.sleep = sleep{s: s, idle: o.Idle, asleep: o.Server.Lazy, woken: o.Server.Lazy}
	hurried := make(chan struct{})
	s.leaving = leaving{s: s, hurried: hurried, hurry: sync.OnceFunc(func() { close(hurried) })}
	s.out.failed, s.out.tell = make(chan struct{}), o.Tell
	o.Server.Client = s.client.clientName
	s.up = upstream.New(o.Server, &s.server)
	return s
}

// policy returns what the user configured for a tool.
func (s *Session) policy(tool string) Policy {
	if p, ok := s.config.Tools[tool]; ok {
		return p
	}
	return s.config.Others
}

// keeps counts the calls that stages hold.
type keeps struct {
	all     int
	answers int // of them, those whose answer is held, and that may be sent on their connection instead
}

func (k *keeps) add(h *Held)    { k.count(h, 1) }
func (k *keeps) remove(h *Held) { k.count(h, -1) }

func (k *keeps) count(h *Held, by int) {
	k.all += by
	if h.conn != nil {
		k.answers += by
	}
}

// Serve connects the client on in and out until in or ctx ends, and returns when the server and all
// its processes are gone. Its error is the reason the server could not be kept running.
func (s *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out.w = out
	left := make(chan error, 1)
	go func() { left <- s.client.listen(in) }() // not waited for: a blocked read of stdin cannot be interrupted
	return s.serve(ctx, left)
}

// Attend is Serve for a client that exchanges messages instead of lines: they come in through
// FromClient and Flush, from any goroutine and at any time, and go out through Options.Tell. It
// returns when ctx has ended and nothing of the server is left; later requests are rejected.
func (s *Session) Attend(ctx context.Context) error { return s.serve(ctx, nil) }

// serve runs the session until ctx ends or the client has left.
func (s *Session) serve(ctx context.Context, left <-chan error) error {
	if s.config.Opened != nil {
		defer s.config.Opened()()
	}
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var served error
	running.Go(func() { served = s.up.Serve(open) })
	if s.config.Timing.IdleProbe > 0 {
		running.Go(func() { s.watcher.keepLooking(open) })
	}
	if left == nil {
		s.watcher.watch(open) // there is nothing else to wait for
	} else {
		running.Go(func() { s.watcher.watch(open) })
	}
	var err error
	select {
	case err = <-left:
		defer s.leaving.hurryWhenUnread(ctx)()
		s.leaving.finish(ctx)
	case <-s.out.failed:
		err = fmt.Errorf("the client disconnected: %w", s.out.err)
	case <-ctx.Done():
		s.up.Hurry()
	}
	s.emit(nil, event.Event{Kind: event.Stopping})
	s.update(func() {
		s.leaving.closing = true
		s.restarting.endRestart(errors.New("not restarted: the session is ending"))
		s.sleep.stop()
		s.table.roomy.Broadcast()
	})
	cancel()
	s.work.endLife()
	s.up.End()
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
		s.work.background.Wait()
		s.leaving.abandonAll()
	}()
	if stuck := s.leaving.leave(done); stuck != nil {
		return errors.Join(err, stuck)
	}
	s.emit(nil, event.Event{Kind: event.Stopped})
	return errors.Join(err, served)
}

// connection returns the current connection; nil: the server is down.
func (s *Session) connection() *upstream.Conn { return s.link.outside.Load() }

// use publishes a connection; nil: the server is down. The caller holds the lock.
func (l *link) use(conn *upstream.Conn) {
	l.conn = conn
	l.outside.Store(conn)
}

// update is the way to change a session: it runs change with the lock held, sends the queued calls
// that may go now, and wakes watch. What change left with later runs once the lock is free.
// Messages to the server are queued under the lock, which keeps their order.
func (s *Session) update(change func()) { run(s.locked(change)) }

// updateAndTell is update for a message from the server. tell puts it into the outlet, whose lock
// is held from before the change: nothing about a call can follow its answer.
func (s *Session) updateAndTell(change, tell func()) {
	s.out.Lock()
	effects := s.locked(change)
	tell()
	s.out.Unlock()
	run(effects)
}

func (s *Session) locked(change func()) (effects []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if s.listing.waiting > 0 {
		s.listing.listForCalls()
	}
	if s.table.freed {
		s.release()
		s.table.freed = false
	}
	if s.restarting.restart != nil {
		s.restarting.restartIfIdle()
	}
	if s.restarting.renew {
		s.restarting.renewIfIdle()
	}
	if s.leaving.emptied != nil {
		s.leaving.endInput()
		s.dialogue.refuseQuestions()
	}
	if s.watcher.dozing && s.watcher.due() {
		s.watcher.dozing = false
		s.watcher.wake <- struct{}{} // there is room: watch takes one for each time it dozes
	}
	if s.check != nil {
		s.check(s)
	}
	effects, s.effects = s.effects, nil
	return effects
}

// later defers an effect, such as an answer to the client, until the lock is free.
func (s *Session) later(effect func()) { s.effects = append(s.effects, effect) }

func run(effects []func()) {
	for _, effect := range effects {
		effect()
	}
}

// Upstream returns the server's supervisor.
func (s *Session) Upstream() *upstream.Upstream { return s.up }

// Counters returns a snapshot.
func (s *Session) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}

func (s *Session) countOne(add func(*Counters)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.counters)
}
