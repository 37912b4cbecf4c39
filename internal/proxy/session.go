package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Options of a Session; the zero value of each is the sensible default.
type Options struct {
	Spec   launch.Spec
	Remote *upstream.Remote  // of a URL: what sessions with the same server share; default its own
	Name   string            // shown to people; default the command line or the address, secrets masked
	Tools  map[string]Policy // by tool name
	Repair string            // off, silent, report, strict: of tools without a word of their own

	Timeout  time.Duration // Timeout is how long a call may take without progress. Default: no limit.
	MaxTime  time.Duration // MaxTime is how long a call may take with progress. Default: no limit.
	Patience time.Duration // of a call while the server is down; default 30 s

	StartTimeout  time.Duration // idle time before an answer of a starting server is overdue; default 60 s
	ProbeInterval time.Duration // of silence while a call waits, before we ask; default 15 s
	ProbeTimeout  time.Duration // default 5 s
	HangGrace     time.Duration // without CPU, or stopped, before a silent server is replaced; default 10 s

	Window      int           // unsafe calls in flight; 0: no limit, 1 after a crash, slowly more
	RetryBudget int           // repetitions in a burst; default 256, negative: no limit
	Quarantine  time.Duration // of a call that was there at two deaths in a row; default 5 min, negative: never

	// LastID is the number that request ids count up from. Default 0; a session
	// that several clients share sets it to RandomID().
	LastID uint64

	// Writes counts the calls that may write, over all sessions whose servers
	// write to the same place. Default: a counter of its own.
	Writes *atomic.Uint64

	Restart upstream.Restart
	Health  health.Config
	Stderr  io.Writer // gets the server's stderr; must not block
	Events  *event.Stream
	Doctor  upstream.Doctor // asked when the server cannot be kept running

	// maxQueued is how many bytes of calls and notifications may wait in our own
	// queues before the client is held up. It bounds memory. Default 32 MiB.
	maxQueued int

	// hangWait is how long a call waits before its silent server may count as
	// hung. Default 60 s.
	hangWait time.Duration

	// Tell is for Attend: it gets what is said to the client, one message at a
	// time. It must not block, call the session or keep what it is given.
	Tell func(Told)
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.hangWait, 60*time.Second)
	set(&o.Patience, 30*time.Second)
	set(&o.ProbeInterval, 15*time.Second)
	set(&o.ProbeTimeout, 5*time.Second)
	set(&o.HangGrace, 10*time.Second)
	set(&o.Quarantine, 5*time.Minute)
	if o.RetryBudget == 0 {
		o.RetryBudget = defaultBudget
	}
	if o.maxQueued == 0 {
		o.maxQueued = 32 << 20
	}
	if o.Name == "" {
		o.Name = o.Spec.Shown()
	}
	if o.Writes == nil {
		o.Writes = new(atomic.Uint64)
	}
	return o
}

// Label is the server's name for models and programs: the one it was given, or its program or host.
func (o Options) Label() string { return cmp.Or(o.Name, o.Spec.Label()) }

// Session is one client talking to one server, with us in between.
type Session struct {
	Options
	label   string // for models
	up      *upstream.Upstream
	out     outlet
	secrets atomic.Pointer[redact.Secrets]

	mu      sync.Mutex // guards everything below
	conn    *upstream.Conn
	upSince time.Time         // when conn was published
	gaveUp  time.Time         // when the client last cancelled a call in flight
	trouble *upstream.Trouble // why there is no connection; nil: it is being started
	closing bool
	ended   bool          // nobody will ever answer
	emptied chan struct{} // set once the client has left; closed when nothing is due

	lastID    uint64
	arrivals  uint64
	sends     uint64
	lastWrite uint64 // value of sends at the last call that may write
	writes    uint64 // this session's part of Writes
	rootsEnd  int64  // of the last roots/list_changed on this connection
	scratch   []byte
	said      atomic.Int64 // bytes of the client's since we last looked whether the server reads them
	idRoom    [48]byte

	calls   map[string]*call // unanswered, by the client's raw id
	flight  map[uint64]*call // sent, by our id
	streams map[string]*call // subscriptions/listen, by the client's raw id
	opened  map[uint64]*call // the same, by our id
	tokens  map[string]*call // by raw progress token
	tasks   map[string]bool  // raw progress tokens of tasks, valid beyond the answer
	late    map[uint64]bool  // cancelled or timed out: an answer may still come
	waiting []*call          // for a connection, in order of arrival
	repeats []*call          // the same, but they were sent before
	held    []*call          // for admission
	queued  int              // bytes in waiting and held
	roomy   sync.Cond        // on mu: queued is small again, or the session ends

	questions map[string]*question // from the server, by our id
	askedAt   time.Time            // when the user was asked the first of the questions that are open
	rooms     rooms                // guards itself

	admission
	suspects []*call
	quarantine
	budget     budget
	memory     memory
	catalog    catalog
	gate       repair.Gate       // decides about tool calls; guards itself
	unverified map[string]string // tools whose calls pass unchecked, and why
	notices    notices
	pulse      pulse
	dozing     bool          // watch waits for wake
	wake       chan struct{} // one message for each dozing that ends

	asking     bool           // for the tools, in the background
	background sync.WaitGroup // what runs beside the traffic

	news              [][]byte // what a restored session has to tell the client
	greetedGeneration int
	deferred          []func() // to run once mu is free
	counters          Counters
}

// Counters of a session.
type Counters struct {
	Calls, Answered, Failed, Unknown, Replayed, Late, Foreign, Stray, FromCache, Repaired uint64
}

// New prepares a Session; Serve runs it.
func New(o Options) *Session {
	label := o.Label()
	o = o.withDefaults()
	s := &Session{
		Options:    o,
		lastID:     o.LastID,
		label:      label,
		calls:      map[string]*call{},
		flight:     map[uint64]*call{},
		streams:    map[string]*call{},
		opened:     map[uint64]*call{},
		tokens:     map[string]*call{},
		tasks:      map[string]bool{},
		late:       map[uint64]bool{},
		questions:  map[string]*question{},
		catalog:    newCatalog(),
		unverified: map[string]string{},
		wake:       make(chan struct{}, 1),
	}
	s.roomy.L = &s.mu
	known := o.Spec.Secrets()
	s.secrets.Store(&known)
	s.admission = admission{fixed: o.Window, tools: map[string]int{}}
	s.quarantine = quarantine{last: map[uint64]bool{}, barred: map[uint64]time.Time{}}
	s.memory.subscriptions = map[string][]byte{}
	s.notices = newNotices()
	if o.RetryBudget > 0 {
		s.budget.size = float64(o.RetryBudget)
	}
	s.out.failed, s.out.tell = make(chan struct{}), o.Tell
	s.up = upstream.New(upstream.Options{
		Spec: o.Spec, Remote: o.Remote, Name: o.Name, Restart: o.Restart, StartTimeout: o.StartTimeout,
		Stderr: o.Stderr, Events: o.Events, Health: o.Health, Doctor: s.consult(o.Doctor),
	}, s)
	return s
}

// consult asks the doctor and remembers the secrets of what it found.
func (s *Session) consult(doctor upstream.Doctor) upstream.Doctor {
	if doctor == nil {
		return nil
	}
	return &consulted{doctor, s}
}

type consulted struct {
	upstream.Doctor
	s *Session
}

func (d *consulted) Treat(ctx context.Context, spec launch.Spec, e upstream.Evidence, trying func(string)) upstream.Treated {
	treated := d.Doctor.Treat(ctx, spec, e, trying)
	if treated.Changed {
		known := treated.Spec.Secrets()
		d.s.secrets.Store(&known)
	}
	return treated
}

// Serve connects the client that speaks on in and listens on out until in
// ends or ctx does, and returns when nothing of the server is left. Its error
// is the reason the server could not be kept running.
func (s *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out.w = out
	left := make(chan error, 1)
	go func() { left <- s.listen(in) }() // a blocked read of stdin cannot be interrupted: nobody waits for it
	return s.serve(ctx, left)
}

// Attend is Serve for a client that speaks in messages: they come in through
// FromClient and Flush, from any goroutine and at any time, and go out through
// Options.Tell. It returns when ctx has ended and nothing of the server is
// left; who calls later is told that we are stopping.
func (s *Session) Attend(ctx context.Context) error { return s.serve(ctx, nil) }

// serve runs the session until ctx ends or the client has left.
func (s *Session) serve(ctx context.Context, left <-chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var served error
	running.Go(func() { served = s.up.Serve(ctx) })
	if left == nil {
		s.watch(ctx) // there is nothing else to wait for
	} else {
		running.Go(func() { s.watch(ctx) })
	}
	var err error
	select {
	case err = <-left:
		s.finish(ctx)
	case <-s.out.failed:
		err = fmt.Errorf("the client is gone: %w", s.out.err)
	case <-ctx.Done():
		s.up.Hurry()
	}
	s.Events.Emit(event.Event{Kind: event.Stopping, Server: s.Name})
	s.mu.Lock()
	s.closing = true
	s.roomy.Broadcast()
	s.mu.Unlock()
	cancel()
	s.up.End()
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
		s.background.Wait()
		s.abandonAll()
	}()
	if deaf := s.leave(done); deaf != nil {
		return errors.Join(err, deaf)
	}
	s.Events.Emit(event.Event{Kind: event.Stopped, Server: s.Name})
	return errors.Join(err, served)
}

// leave waits until all is done. A client that holds on to our stdout and does
// not read it must not keep us for ever: a blocked write cannot be interrupted
// either, so once the server is certainly gone nobody waits for it.
func (s *Session) leave(done <-chan struct{}) error {
	look := time.NewTicker(upstream.MaxStopTime)
	defer look.Stop()
	for {
		select {
		case <-done:
			return nil
		case now := <-look.C:
			if s.out.stuck(now) {
				return errors.New("the client does not read what it is told")
			}
			look.Reset(time.Second)
		}
	}
}

// finishGrace: a client that closed its side may still read, as in
// `printf ... | gauze run -- server`; one that is gone does not mind.
const finishGrace = 2 * time.Second

// finish waits a moment for the answers that are still due.
func (s *Session) finish(ctx context.Context) {
	s.mu.Lock()
	s.emptied = make(chan struct{})
	s.checkEmptied()
	s.mu.Unlock()
	timer := time.NewTimer(finishGrace)
	defer timer.Stop()
	select {
	case <-s.emptied:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// checkEmptied tells finish that nothing is due any more.
func (s *Session) checkEmptied() {
	if s.emptied != nil && len(s.calls) == len(s.streams) {
		select {
		case <-s.emptied:
		default:
			close(s.emptied)
		}
	}
}

// Hurry makes a stop under way skip the wait for a voluntary end.
func (s *Session) Hurry() { s.up.Hurry() }

// listen reads what the client says to its end.
func (s *Session) listen(in io.Reader) error {
	lines := wire.NewReader(in, 0)
	for {
		line, err := lines.Next()
		var long *wire.TooLong
		switch {
		case err == nil:
			s.FromClient(line)
		case errors.As(err, &long):
			s.tooLongFromClient(long)
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
		if !lines.Buffered() {
			s.Flush()
		}
	}
}

// checkRoom is after how many bytes of the client's, each message counting for
// callOverhead at least, we check whether the server reads them.
const checkRoom = 1 << 20

// holdUp blocks a client that says more than the server reads, as a pipe
// between the two would.
func (s *Session) holdUp(size int) {
	if s.said.Add(int64(size+callOverhead)) < checkRoom {
		return
	}
	s.said.Store(0)
	if conn := s.connection(); conn != nil {
		conn.Flush()
		conn.AwaitRoom()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.queued > s.maxQueued && !s.closing && !s.ended {
		s.roomy.Wait()
	}
}

// Flush sends what FromClient left queued for the server.
func (s *Session) Flush() {
	if conn := s.connection(); conn != nil {
		conn.Flush()
	}
}

// connection is the current one; nil: the server is down.
func (s *Session) connection() *upstream.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// later leaves what is to be said until the lock is free; unlock says it.
func (s *Session) later(f func()) { s.deferred = append(s.deferred, f) }

func (s *Session) takeDeferred() []func() {
	deferred := s.deferred
	s.deferred = nil
	return deferred
}

// unlock releases the lock and then says what was decided under it.
func (s *Session) unlock() {
	deferred := s.takeDeferred()
	s.mu.Unlock()
	for _, f := range deferred {
		f()
	}
}

// abandonAll answers what is left when the session ends.
func (s *Session) abandonAll() {
	s.mu.Lock()
	s.ended = true
	var left []*call
	for _, c := range s.calls {
		left = append(left, c)
	}
	for _, c := range left {
		s.retire(c)
	}
	s.unlock()
	for _, c := range left {
		s.fail(c, &fault.Fault{Code: fault.Stopping, Delivery: deliveryOf(c)})
	}
}

// Upstream is the server's supervisor: its health and its counters.
func (s *Session) Upstream() *upstream.Upstream { return s.up }

// Counters is a snapshot.
func (s *Session) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}

func (s *Session) count(add func(*Counters)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.counters)
}
