package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
	"github.com/gauze-mcp/gauze/llm"
)

// DefaultMaxMessage is the default of Options.MaxMessage.
const DefaultMaxMessage = wire.MaxLine

// Options configures a Session. The zero value of each is the default.
type Options struct {
	Spec   launch.Spec
	Remote *upstream.Remote  // shared by the sessions with one URL; default: its own
	Name   string            // shown to people; default: the command line or the URL, secrets masked
	Tools  map[string]Policy // by tool name
	Repair string            // off, silent, report or strict, for tools without a setting of their own

	// Explain words explanations; see repair.Gate. May be nil.
	Explain func(repair.Explanation) string

	Timeout  time.Duration // how long a call may take without progress; default: no limit
	MaxTime  time.Duration // how long a call may take with progress; default: no limit
	Patience time.Duration // how long a call waits for a server that is down; default 30s

	StartTimeout  time.Duration // idle time before a response of a starting server is overdue; default 60s
	ConfirmAfter  time.Duration // how long a session over HTTP counts as known after a request; default 5s; negative: never
	ProbeInterval time.Duration // silence while a call waits before a liveness probe; default 15s
	ProbeTimeout  time.Duration // how long a probe may take; default 5s
	IdleProbe     time.Duration // time between two looks at a server that no call waits for; default: never, unless Look is called
	ResumedRead   time.Duration // silence after which a read is sent again whose stream was resumed; default 30s, negative: never
	ResumedWrite  time.Duration // silence after which any other such call is reported; default 5m, negative: never
	HangGrace     time.Duration // time without CPU, or stopped, before a silent server is replaced; default 10s

	MaxMessage int // bytes of the longest message that passes; default DefaultMaxMessage

	Window      int           // unsafe calls in flight; 0: no limit, after a crash 1 and slowly more
	RetryBudget int           // repetitions in a burst; default 256, negative: no limit
	Quarantine  time.Duration // how long a call in flight at two consecutive crashes is rejected; default 5m, negative: never

	// LastID is the number that request ids count up from. Default 0; a session that several
	// clients share sets it to RandomID().
	LastID uint64

	// Writes counts the calls that may write, over all sessions whose servers write to the same
	// place. Default: a counter of its own.
	Writes *atomic.Uint64

	Restart upstream.Restart
	Health  health.Config
	Stderr  io.Writer // receives the server's stderr; must not block
	Events  *event.Stream
	Doctor  upstream.Doctor // consulted when the server cannot be kept running
	Calls   CallDoctor      // consulted when a tool call fails; may be nil
	Tracer  Tracer          // follows tool calls; may be nil

	SessionID string // of the client's session over HTTP; empty: it has none
	Principal string // who the client is, if that is known; others get nothing from the Shelf that was kept for it

	// Shelf keeps what the server said about itself, for sessions that begin while it is down. May be nil.
	Shelf Shelf

	// OpenBrowser opens the address at which the user logs in. Default: the user's browser.
	OpenBrowser func(address string) error

	// FinishGrace is how long answers that are due are waited for after the client closed its side: it
	// may still read, as in `printf ... | gauze run -- server`. Default 2s; negative: no limit.
	FinishGrace time.Duration
	// ReaderGone returns once the answers have no reader any more, or ctx has ended. It is called when the
	// client has closed its side. May be nil: a write that fails shows it.
	ReaderGone func(ctx context.Context)

	// Opened is called when the session begins, and closed when it has ended. May be nil.
	Opened func(*Session) (closed func())

	// Models returns the model that corrects rejected calls: the one with the name that a policy
	// specifies, or the configured one if name is empty; nil: there is none. client asks the model of
	// the client, and is nil if the client does not offer one. A session keeps the models it gets.
	// Models must be fast. Default: calls are not corrected.
	Models func(name string, client Sampler) llm.Model
	// ModelTimeout is how long the response to a rejected call waits for a model, unless a policy
	// says otherwise. Default: as long as the model takes.
	ModelTimeout time.Duration

	// maxQueued is how many bytes of calls and notifications may be queued before the client is
	// held up. It bounds memory. Default 32 MiB.
	maxQueued int

	// hangWait is how long a call waits, once the client cancelled a call, before its silent server
	// may count as hung. Default 60s.
	hangWait time.Duration

	// maxHold is how long a call is held because of what others may do. Default 1s.
	maxHold time.Duration

	// listWait is how long a call waits for the list of the tools if the client has not asked for it.
	// Default 2s.
	listWait time.Duration

	// suspectsApart is how long the repetition of a call that the server died with keeps the next one
	// waiting. A poisoned call kills fast, and a slow one must not hold up the others. Default 200ms.
	suspectsApart time.Duration

	// discoverWait is how long a server may take to answer server/discover. A legacy server may
	// never answer it, and the client then falls back to initialize. Default 3s.
	discoverWait time.Duration

	// startAnswer is how long a client waits for a session that cannot begin, once it is known why.
	// Default 3s: a client is to know within five, on a busy machine as well.
	startAnswer time.Duration

	// lookInterval is how often a silent command is checked for a port at which it answers. Default 15s.
	lookInterval time.Duration

	// examineTimeout is how long the response to a failed call waits for its cause. Default 3s.
	examineTimeout time.Duration

	// pause waits before a call is sent again that failed with an error that may be over soon. Default:
	// for correct.RepeatPause, or until ctx ends.
	pause func(ctx context.Context)

	// Tell receives, with Attend, the messages to the client, one at a time. It must not block,
	// call the session or keep what it is given.
	Tell func(Told)
}

func (o Options) withDefaults() Options {
	o.hangWait = cmp.Or(o.hangWait, 60*time.Second)
	o.maxHold = cmp.Or(o.maxHold, time.Second)
	o.listWait = cmp.Or(o.listWait, listSoon)
	o.suspectsApart = cmp.Or(o.suspectsApart, 200*time.Millisecond)
	o.discoverWait = cmp.Or(o.discoverWait, 3*time.Second)
	o.startAnswer = cmp.Or(o.startAnswer, 3*time.Second)
	o.lookInterval = cmp.Or(o.lookInterval, 15*time.Second)
	o.FinishGrace = cmp.Or(o.FinishGrace, 2*time.Second)
	o.examineTimeout = cmp.Or(o.examineTimeout, 3*time.Second)
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	o.ProbeInterval = cmp.Or(o.ProbeInterval, 15*time.Second)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 5*time.Second)
	o.ResumedRead = cmp.Or(o.ResumedRead, 30*time.Second)
	o.ResumedWrite = cmp.Or(o.ResumedWrite, 5*time.Minute)
	o.HangGrace = cmp.Or(o.HangGrace, 10*time.Second)
	o.Quarantine = cmp.Or(o.Quarantine, 5*time.Minute)
	o.RetryBudget = cmp.Or(o.RetryBudget, defaultBudget)
	o.MaxMessage = cmp.Or(o.MaxMessage, DefaultMaxMessage)
	o.maxQueued = cmp.Or(o.maxQueued, 32<<20)
	if o.Name == "" {
		o.Name = o.Spec.Shown()
	}
	if o.OpenBrowser == nil {
		o.OpenBrowser = login.OpenBrowser
	}
	if o.pause == nil {
		o.pause = repeatPause
	}
	if o.Writes == nil {
		o.Writes = new(atomic.Uint64)
	}
	return o
}

// Label returns the server's name for models and programs: the one it was given, or its program or host.
func (o Options) Label() string { return cmp.Or(o.Name, o.Spec.Label()) }

// Session connects one client and one server.
type Session struct {
	Options
	label   string // for models
	up      *upstream.Upstream
	out     outlet
	secrets atomic.Pointer[redact.Secrets]
	client  atomic.Pointer[clientInfo]

	mu      sync.Mutex // guards everything below
	conn    *upstream.Conn
	upSince time.Time         // when conn was published
	gaveUp  time.Time         // when the client last cancelled a call in flight
	trouble *upstream.Trouble // why conn is nil; nil: the server is being started
	delayed *delay            // why no session has begun; nil: it has, or nothing keeps it from that
	closing bool
	ended   bool          // every call has its answer, and new ones are rejected
	emptied chan struct{} // made once the client has left; closed when no answer is due
	hurried chan struct{} // closed by hurry
	hurry   func()

	lastID    uint64
	arrivals  uint64
	sends     uint64
	lastWrite uint64 // value of sends at the last call that may write
	writes    uint64 // this session's part of Writes
	rootsEnd  int64  // of the last roots/list_changed on this connection
	scratch   []byte
	idBuffer  [48]byte
	said      atomic.Int64 // bytes from the client since we last checked whether the server reads them

	// The calls, by their state. Only move changes these.
	calls       map[string]*call // not done, by the client's raw id
	tokens      map[string]*call // the same, by raw progress token
	queue       []*call          // queued, in the order in which they go
	queuedBytes int              // in queue
	flight      map[uint64]*call // sent, by our id; without streams
	opened      map[uint64]*call // sent streams, by our id
	freed       bool             // a call left: one that is queued may go

	roomy sync.Cond       // on mu: queuedBytes is small again, or the session ends
	tasks map[string]bool // raw progress tokens of tasks, valid beyond the answer
	late  map[uint64]bool // cancelled or timed out: an answer may still come

	questions map[string]*question // from the server, by our id
	askedAt   time.Time            // when the user was asked the first of the questions that are open
	buffers   buffers              // guards itself

	admission
	quarantine
	budget budget
	memory memory
	likeness
	catalog    catalog
	gate       repair.Gate       // decides about tool calls; guards itself
	unverified map[string]string // tools whose calls pass unchecked, and why
	ails       atomic.Bool       // ailing is not empty
	ailing     map[string]string // tools whose last call failed because of the server's setup, and the code of the cause
	examined   int               // failed calls that are being examined

	logins   *upstream.Logins // the login of the connections; nil: they have none
	needed   *login.Needed    // why a person has to log in; nil: requests are accepted, as far as is known
	neededAt time.Time
	elicited *elicitation // the last request to the client to open an address
	offers   offers

	consulting  int                  // calls in the state consulting
	pausing     int                  // calls in the state pausing
	models      map[string]llm.Model // by the name in a policy
	uncorrected map[uint64]time.Time // until when no model is asked about a call, by its sign
	life        context.Context      // ends when the session is being closed
	endLife     context.CancelFunc

	notices notices
	pulse   pulse
	dozing  bool          // watch waits for wake
	wake    chan struct{} // one message each time dozing ends

	listing    listing        // calls that wait for the list of the tools
	elsewhere  elsewhere      // whether a silent command serves HTTP
	asking     bool           // the tools are being listed in the background
	background sync.WaitGroup // requests of our own beside the traffic

	news              [][]byte // notifications for the client after a restore
	greetedGeneration int
	effects           []func() // to run once mu is free
	check             func(*Session)
	counters          Counters
	tally             tally
	away              bool       // a server that worked is down
	restart           chan error // the user asked for a restart, and gets its result here
	replacing         chan error // gets the result of such a restart once the server was stopped
	restarted         bool       // the next connection follows such a restart
	illegalMoves      uint64     // moves that a call's state does not allow; 0 unless gauze has a bug
}

// Counters counts what a session has seen.
type Counters struct {
	Calls, Answered, Failed, Unknown, Replayed, Late, Foreign, Stray, FromCache, Repaired, Corrected, Proposed, Uncorrected uint64

	ModelInputTokens, ModelOutputTokens uint64
	ModelCost                           float64 // US dollars; 0 if prices are not configured
}

// checkInTests checks a session after every update. It is nil except in tests, where an illegal
// move panics as well.
var checkInTests func(*Session)

// New returns a Session; Serve or Attend runs it.
func New(o Options) *Session {
	label := o.Label()
	o = o.withDefaults()
	s := &Session{
		Options:    o,
		lastID:     o.LastID,
		label:      label,
		calls:      map[string]*call{},
		flight:     map[uint64]*call{},
		opened:     map[uint64]*call{},
		tokens:     map[string]*call{},
		tasks:      map[string]bool{},
		late:       map[uint64]bool{},
		questions:  map[string]*question{},
		catalog:    newCatalog(),
		unverified: map[string]string{},
		ailing:     map[string]string{},
		wake:       make(chan struct{}, 1),
		hurried:    make(chan struct{}),
		check:      checkInTests,
	}
	s.roomy.L = &s.mu
	s.gate.Explain = o.Explain
	s.hurry = sync.OnceFunc(func() { close(s.hurried) })
	s.life, s.endLife = context.WithCancel(context.Background())
	s.remember()
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
		Spec: o.Spec, Remote: o.Remote, Name: o.Name, Restart: o.Restart, StartTimeout: o.StartTimeout, ConfirmAfter: o.ConfirmAfter, MaxMessage: o.MaxMessage,
		Stderr: o.Stderr, Events: o.Events, Client: s.clientName, Health: o.Health, Doctor: s.consult(o.Doctor),
	}, s)
	return s
}

// consult wraps the doctor to remember the secrets of the specs it returns.
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

// Serve connects the client on in and out until in or ctx ends, and returns when the server and all
// its processes are gone. Its error is the reason the server could not be kept running.
func (s *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out.w = out
	left := make(chan error, 1)
	go func() { left <- s.listen(in) }() // not waited for: a blocked read of stdin cannot be interrupted
	return s.serve(ctx, left)
}

// Attend is Serve for a client that exchanges messages instead of lines: they come in through
// FromClient and Flush, from any goroutine and at any time, and go out through Options.Tell. It
// returns when ctx has ended and nothing of the server is left; later requests are rejected.
func (s *Session) Attend(ctx context.Context) error { return s.serve(ctx, nil) }

// serve runs the session until ctx ends or the client has left.
func (s *Session) serve(ctx context.Context, left <-chan error) error {
	if s.Opened != nil {
		defer s.Opened(s)()
	}
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var served error
	running.Go(func() { served = s.up.Serve(open) })
	if s.IdleProbe > 0 {
		running.Go(func() { s.keepLooking(open) })
	}
	if left == nil {
		s.watch(open) // there is nothing else to wait for
	} else {
		running.Go(func() { s.watch(open) })
	}
	var err error
	select {
	case err = <-left:
		defer s.hurryWhenUnread(ctx)()
		s.finish(ctx)
	case <-s.out.failed:
		err = fmt.Errorf("the client is gone: %w", s.out.err)
	case <-ctx.Done():
		s.up.Hurry()
	}
	s.emit(nil, event.Event{Kind: event.Stopping})
	s.update(func() {
		s.closing = true
		s.endRestart(errors.New("not restarted: the session is ending"))
		s.roomy.Broadcast()
	})
	cancel()
	s.endLife()
	s.up.End()
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
		s.background.Wait()
		s.abandonAll()
	}()
	if stuck := s.leave(done); stuck != nil {
		return errors.Join(err, stuck)
	}
	s.emit(nil, event.Event{Kind: event.Stopped})
	return errors.Join(err, served)
}

// leave waits for done. A blocked write to a client that does not read its end cannot be
// interrupted, so it is not waited for once the server is certainly gone. A client that closed its side
// reads when it likes, unless FinishGrace limits that.
func (s *Session) leave(done <-chan struct{}) error {
	look := time.NewTicker(upstream.MaxStopTime)
	defer look.Stop()
	if s.emptied != nil && s.FinishGrace < 0 {
		select {
		case <-done:
			return nil
		case <-s.hurried:
		}
	}
	for {
		select {
		case <-done:
			return nil
		case now := <-look.C:
			if s.out.stuck(now) {
				return errors.New("the client is not reading its responses")
			}
			look.Reset(time.Second)
		}
	}
}

// finish waits for the answers that are still due, for FinishGrace at most and as long as they have a
// reader. The server reads the end of its input meanwhile.
func (s *Session) finish(ctx context.Context) {
	s.update(func() {
		s.emptied = make(chan struct{})
		s.checkEmptied()
	})
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.FinishGrace > 0 {
		waiting, cancel = context.WithTimeout(waiting, s.FinishGrace)
		defer cancel()
	}
	select {
	case <-s.emptied:
	case <-s.out.failed:
		s.Hurry()
	case <-s.hurried:
	case <-waiting.Done():
	}
}

// hurryWhenUnread calls Hurry once the answers have no reader, or ctx has ended, until stop is called.
func (s *Session) hurryWhenUnread(ctx context.Context) (stop func()) {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if s.ReaderGone != nil {
		go func() {
			if s.ReaderGone(waiting); waiting.Err() == nil {
				s.Hurry()
			}
		}()
	}
	asked := context.AfterFunc(ctx, s.Hurry)
	return func() {
		asked()
		cancel()
	}
}

// endInput lets the server read the end of its input, once the client has left and everything that it sent
// was passed on. The caller holds the lock.
func (s *Session) endInput() {
	if s.conn != nil && len(s.queue) == 0 && s.consulting+s.pausing == 0 {
		s.conn.EndInput()
	}
}

// mute reports whether nothing more can be sent to the server. The caller holds the lock.
func (s *Session) mute() bool { return s.closing || s.conn != nil && s.conn.InputEnded() }

// checkEmptied closes emptied if no answer is due. The answer to an open stream never is.
func (s *Session) checkEmptied() {
	if s.emptied == nil {
		return
	}
	for _, c := range s.calls {
		if !c.open() {
			return
		}
	}
	s.up.Last()
	if s.examined > 0 {
		return
	}
	select {
	case <-s.emptied:
	default:
		close(s.emptied)
	}
}

// Hurry makes a stop under way kill the server without waiting for it to exit, or for answers that
// are due.
func (s *Session) Hurry() {
	s.hurry()
	s.up.Hurry()
}

// listen reads the client's messages until it closes its side.
func (s *Session) listen(in io.Reader) error {
	lines := wire.NewReader(in, s.MaxMessage)
	for {
		line, err := lines.Next()
		var long *wire.TooLong
		switch {
		case err == nil:
			s.FromClient(line)
		case errors.As(err, &long):
			s.tooLongFromClient(long)
		case errors.Is(err, io.EOF):
			s.lastFromClient(lines.Unfinished())
			return nil
		default:
			return err
		}
		if !lines.Buffered() {
			s.Flush()
		}
	}
}

// lastFromClient handles what follows the last newline, unless it is a piece of a message.
func (s *Session) lastFromClient(line []byte) {
	line = bytes.TrimSpace(wire.WithoutMark(line))
	if _, _, err := wire.Scan(line); err == nil || json.Valid(line) {
		s.FromClient(line)
		s.Flush()
	}
}

// checkRoom is after how many bytes from the client we check whether the server reads them. Each
// message counts for callOverhead at least.
const checkRoom = 1 << 20

// holdUp blocks a client that sends more than the server reads, as a pipe between the two would.
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
	for s.queuedBytes > s.maxQueued && !s.closing && !s.ended {
		s.roomy.Wait()
	}
}

// Flush sends what FromClient left queued for the server.
func (s *Session) Flush() {
	if conn := s.connection(); conn != nil {
		conn.Flush()
	}
}

// connection returns the current connection; nil: the server is down.
func (s *Session) connection() *upstream.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
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
		s.listForCalls()
	}
	if s.freed {
		s.release()
		s.freed = false
	}
	if s.restart != nil {
		s.restartIfIdle()
	}
	if s.emptied != nil {
		s.endInput()
		s.refuseQuestions()
	}
	if s.dozing && s.due() {
		s.dozing = false
		s.wake <- struct{}{} // there is room: watch takes one for each time it dozes
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

// abandonAll answers what is left when the session ends.
func (s *Session) abandonAll() {
	s.update(func() {
		s.ended = true
		for _, c := range s.calls {
			f := &fault.Fault{Code: fault.Stopping, Delivery: deliveryOf(c)}
			if c.state == sent { // over HTTP it may have continued after its session
				f.Delivery = fault.Unknown
			}
			s.fail(c, f)
		}
	})
}

// Upstream returns the server's supervisor.
func (s *Session) Upstream() *upstream.Upstream { return s.up }

// Counters returns a snapshot.
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
