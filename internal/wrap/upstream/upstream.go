package upstream

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// User uses the connections to a server. Prepare, Up, Down and Unreachable are called by the
// goroutine that runs Serve, the methods of Reader by the goroutine of the connection.
type User interface {
	Reader
	// Prepare restores the session on a new connection before it is used.
	Prepare(ctx context.Context, c *Conn) error
	// Up publishes a connection that is ready.
	Up(c *Conn)
	// Down retracts a connection. It is Done, so the fate of what was in flight is known. Down also
	// follows a Prepare that failed.
	Down(c *Conn)
	// Unreachable reports the state until the next connection. Without a code, the server is being
	// started or reached in a different way.
	Unreachable(Trouble)
}

// Trouble describes why the server is unavailable, since when, and what happens next.
type Trouble struct {
	Code       fault.Code
	Detail     string
	Cause      fault.Cause
	Since      time.Time
	Attempts   int
	Generation int           // the generation that ended
	NextTry    time.Time     // zero if gauze does not retry by itself
	Likely     time.Duration // how long a start is likely to take at most; 0: the server is at a URL, so that is not known
	Permanent  bool          // calls need not wait
	Open       bool          // the next try is after a pause, or none is
	Evidence   Evidence
	Login      *login.Needed // the server is unavailable until a person logs in; nil: for a different reason
}

// Options configures an Upstream. The zero value of each field is a sensible default.
type Options struct {
	Spec launch.Spec
	// Lazy leaves the server asleep until Wake is called.
	Lazy bool
	// Remote is shared with other upstreams that use the same URL. Default: one of its own.
	Remote  *Remote
	Name    string // shown to users; default the command line
	Restart Restart
	// StartTimeout is the idle time after which a response of a starting server is overdue. Default
	// 60s, what clients wait.
	StartTimeout time.Duration
	Confirm      Confirm   // when a session over HTTP is confirmed
	MaxMessage   int       // bytes of the longest message that is read; default wire.MaxLine
	Stderr       io.Writer // receives the server's stderr; nil discards it
	Events       *event.Stream
	Client       func() string // names the client in events; may be nil
	Health       health.Config
	Doctor       Doctor // asked when the server cannot be kept running; may be nil
}

// Upstream keeps one server reachable. The goroutine that runs Serve owns its process and its
// connection.
type Upstream struct {
	Options
	user  User
	asked asked

	ownRemote bool // Remote is not shared
	// Used only by the goroutine that runs Serve.
	lingering []*Conn              // Done, but may still receive responses
	treated   map[string]treatment // by signature of the failure
	adopting  sync.Mutex           // held to change Spec and changes, and to read them elsewhere than in Run
	changes   []string             // what was changed in Spec, in order
	unreached bool                 // the last generation found no server at the URL

	last atomic.Bool // see Last

	output life.Output // what the server printed

	mu      sync.Mutex
	tracker *health.Tracker
	conn    *Conn // the current connection, also while it is prepared
	hurried bool
	outages outages
	told    health.State  // the state that was last emitted
	learned time.Duration // start timeout that earlier starts showed to be necessary
}

// New returns an Upstream. Serve runs it.
func New(o Options, user User) *Upstream {
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	o.MaxMessage = cmp.Or(o.MaxMessage, wire.MaxLine)
	if o.Name == "" {
		o.Name = o.Spec.Shown()
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	u := &Upstream{Options: o, user: user, asked: newAsked(), tracker: health.New(o.Health)}
	if o.Lazy {
		u.asked.asleep.Store(true)
		u.tracker.Rested(time.Now())
	}
	return u
}

// defaultStartTimeout is how long common clients wait for the response to initialize.
const defaultStartTimeout = 60 * time.Second

// maxStart limits the start of a server that is busy all the time.
const maxStart = 10 * time.Minute

// StartPatience returns StartTimeout, or more if earlier starts took longer.
func (u *Upstream) StartPatience() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(u.StartTimeout, u.learned)
}

// minLikely is how long a start may well take that was faster before: the machine may be busy now.
const minLikely = 5 * time.Second

// likelyStart returns how long the next start is likely to take at most, 0 for a server that others start.
func (u *Upstream) likelyStart() time.Duration {
	if u.Spec.URL != "" {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(minLikely, u.learned)
}

// StartOverdue records that a start took longer than StartPatience. The next one gets twice the
// time, because the same timeout would fail again.
func (u *Upstream) StartOverdue() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.learned = min(2*max(u.StartTimeout, u.learned), max(u.StartTimeout, maxStart))
}

// retryWhenAsked is the minimum time between tries that new requests cause after gauze gave up. The
// user may have fixed the problem.
const retryWhenAsked = 30 * time.Second

// Serve keeps the server running until ctx ends, and returns when its last process is gone. The
// error is why the server could not be kept running.
func (u *Upstream) Serve(ctx context.Context) error {
	var watchdog process.Guard
	defer watchdog.Close()
	logs := newRelay(u.Stderr)
	defer logs.close()
	defer func() {
		for _, conn := range u.lingering {
			conn.dismiss()
			<-conn.gone()
		}
		if logins := u.logins(); logins != nil {
			logins.Leave(reporter{u})
		}
		if u.ownRemote {
			u.Remote.Close()
		}
	}()
	history := restarts{Restart: u.Restart.withDefaults()}
	var since time.Time // when the trouble began
	attempts := 0
	for generation := 1; ; generation++ {
		if !u.untilNeeded(ctx) {
			return nil
		}
		drain(u.asked.now) // this is the attempt
		if u.adoptNext() {
			history = restarts{Restart: history.Restart}
			since, attempts = time.Time{}, 0
		}
		evidence, ready, err := u.generation(ctx, generation, &watchdog, logs)
		u.unreached = unreached(evidence)
		now := time.Now()
		if ctx.Err() != nil {
			if code, detail, hopeless := permanent(evidence); hopeless && evidence.Spawn != nil {
				return (&fault.Fault{Code: code, Detail: detail, Server: u.Name, At: now, Attempts: attempts + 1}).Hide(u.Spec.Secrets().Redact)
			}
			return nil
		}
		if evidence.ByUs == ClientLeft || u.wasLast(evidence) {
			return nil // it read the end of its input, and exited
		}
		if evidence.ByUs == UserRestart || evidence.ByUs == NewCommand || evidence.ByUs == NotNeeded || u.asked.asleep.Load() {
			since, attempts = time.Time{}, 0
			history.credit(evidence)
			continue
		}
		if since.IsZero() || ready && evidence.Stage >= Spoke {
			// It worked until now. Being ready alone does not show that: before the first handshake
			// there is nothing to restore.
			since, attempts = now, 0
		}
		attempts++
		next := history.after(evidence, now, rand.Float64())
		var verdict *fault.Fault
		if errors.As(err, &verdict) && !u.temporarilyAway(verdict) {
			next = plan{permanent: true, code: verdict.Code, detail: verdict.Detail}
		}
		next = loginPlan(next, evidence, err)
		u.failed(evidence, next, now)
		trouble := Trouble{
			Code: next.code, Since: since, Attempts: attempts, Generation: generation, Evidence: evidence, Likely: u.likelyStart(),
		}
		evidence = u.inspected(evidence)
		if history.failsToStart(evidence) {
			cause, lasts := u.diagnose(evidence)
			next.explain(cause, lasts, evidence)
		}
		if u.treat(ctx, evidence, &next, trouble) {
			history = restarts{Restart: history.Restart}
			u.user.Unreachable(Trouble{})
			continue
		}
		trouble.Code, trouble.Detail, trouble.Cause, trouble.Login = next.code, next.detail, next.cause, next.login
		trouble.Permanent, trouble.Open = next.permanent, next.open || next.refused
		if !next.permanent && !next.refused {
			trouble.NextTry = time.Now().Add(next.wait)
		}
		u.retrying(trouble)
		u.announce(next, trouble, generation)
		u.user.Unreachable(trouble)
		if next.permanent {
			if err := u.untilAsked(ctx, now, next.login != nil); err != nil {
				f := fault.Fault{Code: next.code, Detail: next.detail, Cause: next.cause, Server: u.Name, At: now, Since: since,
					Attempts: attempts, Evidence: evidence.Shown()}
				return f.Hide(u.Spec.Secrets().Redact)
			}
			if next.login != nil { // calls wait while the session is restored
				trouble.Permanent, trouble.Login, trouble.NextTry = false, nil, time.Now()
				u.user.Unreachable(trouble)
			}
			continue
		}
		if !pause.Until(ctx, next.wait, u.asked.now) {
			return nil
		}
	}
}

// generation runs the server once, from its start to its end. ready reports whether the connection
// was published.
func (u *Upstream) generation(ctx context.Context, number int, watchdog *process.Guard, logs io.Writer) (e Evidence, ready bool, err error) {
	conn, err := u.connect(ctx, number, logs, watchdog)
	if err != nil {
		return notConnected(err), false, nil
	}
	u.setConn(conn)
	u.emit(event.Event{Kind: event.Started, Generation: number, PID: conn.PID()})
	err = u.prepare(ctx, conn)
	if err == nil {
		ready = true
		u.connected(conn)
		u.whenReady(conn, func() {
			u.recovered(conn)
			u.emit(event.Event{Kind: event.Ready, Generation: number, PID: conn.PID(), Took: time.Since(conn.Started)})
		})
		u.user.Up(conn)
		select {
		case <-conn.Done():
		case <-ctx.Done():
			conn.End(ClientLeft, false)
			u.hurryIfAsked(conn)
		}
	} else {
		conn.End(err.Error(), true)
	}
	<-conn.Done()
	u.lingering = append(slices.DeleteFunc(u.lingering, isGone), conn)
	e = conn.Evidence()
	reason := reasonOf(e, ready)
	switch {
	case u.wasLast(e):
		reason = ReasonStopped
	case loginPlan(plan{}, e, err).login != nil:
		reason = ReasonLogin
	}
	u.closed(conn, reason)
	e.StderrTail = conn.rec.Stderr.Tail(life.MaxStderrBytes)
	u.emit(event.Event{Kind: event.Died, Generation: number, PID: conn.PID(), Reason: reason, Detail: e.Sentence(), Took: e.Ran, Output: u.lastOutput(reason, e)})
	u.user.Down(conn)
	return e, ready, err
}

func isGone(c *Conn) bool {
	select {
	case <-c.gone():
		return true
	default:
		return false
	}
}

// connect starts the server, or prepares to reach it.
func (u *Upstream) connect(ctx context.Context, generation int, logs io.Writer, watchdog *process.Guard) (*Conn, error) {
	if u.Spec.URL == "" {
		return launchConn(u.Spec, generation, u.user, logs, &u.output, watchdog, u.MaxMessage)
	}
	if u.Remote == nil {
		remote, err := NewRemote(u.Spec)
		if err != nil {
			return nil, err
		}
		u.Remote, u.ownRemote = remote, true
	}
	if logins := u.logins(); logins != nil {
		logins.Join(reporter{u})
	}
	if u.unreached {
		if err := u.Remote.Reach(ctx); err != nil {
			return nil, &unreachedError{err}
		}
	}
	return dial(u.Remote, generation, u.user, logs, &u.output, u.Confirm, u.MaxMessage), nil
}

// prepare runs the user's Prepare. Each response it waits for may take as long as a start.
func (u *Upstream) prepare(ctx context.Context, conn *Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	result := make(chan error, 1)
	go func() { result <- u.user.Prepare(ctx, conn) }()
	patience := u.StartPatience()
	tick := time.NewTicker(max(patience/20, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-conn.Done():
			cancel(errors.New("the server exited before it was ready"))
			return errors.Join(context.Cause(ctx), <-result)
		case <-tick.C:
			if conn.Overdue(conn.LastHeard(), time.Now(), patience) {
				u.StartOverdue()
				cancel(errors.New("it did not answer in time"))
				<-result
				return context.Cause(ctx)
			}
		}
	}
}

func (u *Upstream) announce(p plan, t Trouble, generation int) {
	kind := event.Waiting
	switch {
	case p.permanent:
		kind = event.GaveUp
	case p.open:
		kind = event.Opened
	case p.refused:
		kind = event.Refused
	case p.wait == 0:
		return
	}
	u.emit(event.Event{Kind: kind, Generation: generation, Code: p.code, Cause: t.Cause, Detail: t.Detail, Took: p.wait, Count: t.Attempts})
}

// reporter emits what happens to a login that several upstreams may share.
type reporter struct{ u *Upstream }

func (r reporter) Emit(e event.Event) { r.u.emit(e) }

// logins returns the login of the Remote, or nil if there is none.
func (u *Upstream) logins() *Logins {
	if u.Remote == nil {
		return nil
	}
	return u.Remote.Logins()
}

// Printed returns the last lines that the server printed, raw, oldest first.
func (u *Upstream) Printed() []Line { return u.output.Lines() }

// maxOutputLine limits a line in an event, in characters.
const maxOutputLine = 300

// lastOutput returns what a server printed before it failed, without secrets; nil if it was to stop.
func (u *Upstream) lastOutput(reason string, e Evidence) (lines []string) {
	if reason == ReasonStopped || reason == ReasonRestart || reason == ReasonIdle {
		return nil
	}
	secrets := u.Spec.Secrets()
	for _, line := range redact.PrivateKeys(e.Stderr) {
		lines = append(lines, plaintext.Cap(secrets.Hide(line), maxOutputLine))
	}
	return lines
}

func (u *Upstream) emit(e event.Event) {
	e.Server = u.Name
	if u.Client != nil {
		e.Client = u.Client()
	}
	if e.Detail != "" {
		e.Detail = u.Spec.Secrets().Redact(e.Detail)
	}
	u.Events.Emit(e)
}

// untilAsked waits for Ask, and at least for retryWhenAsked. A new login ends the wait if one is
// missing.
func (u *Upstream) untilAsked(ctx context.Context, since time.Time, login bool) error {
	drain(u.asked.again) // asked before gauze gave up
	var stored, renewed <-chan struct{}
	if login {
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		stored, renewed = u.logins().Changed(waiting)
	}
	early := time.NewTimer(time.Until(since.Add(retryWhenAsked)))
	defer early.Stop()
	var wake <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-early.C:
			wake = u.asked.again
		case <-wake:
			return nil
		case <-u.asked.now:
			return nil
		case <-stored:
			return nil
		case <-renewed:
			return nil
		}
	}
}

// Ask reports that a client needs the server although gauze gave up on it.
func (u *Upstream) Ask() { signal(u.asked.again) }

// TryNow ends the wait for the next attempt to connect, however long it would be: a person or a program
// asked for one.
func (u *Upstream) TryNow() { signal(u.asked.now) }

// connected records that a connection is ready for calls.
func (u *Upstream) connected(c *Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tracker.Connected(c.Generation, time.Now())
	u.learned = max(u.learned, 3*c.rec.FirstMessage())
}

// recovered records that the server of a connection is there.
func (u *Upstream) recovered(c *Conn) {
	now := time.Now()
	u.mu.Lock()
	if u.conn != c { // it has ended since
		u.mu.Unlock()
		return
	}
	u.outages.recovered(now, c.rec.FirstMessage())
	from, to := u.news()
	u.mu.Unlock()
	u.changed(c.Generation, from, to)
}

// closed records that a connection ended, and why.
func (u *Upstream) closed(c *Conn, reason string) {
	ended := c.rec.Ended()
	u.mu.Lock()
	u.conn = nil
	u.outages.began(reason, ended)
	switch reason {
	case ReasonIdle:
		u.tracker.Rested(ended)
	case ReasonRestart:
		u.tracker.Closed(c.Generation, ended)
		u.tracker.Renew()
	default:
		u.tracker.Closed(c.Generation, ended)
	}
	from, to := u.news()
	u.mu.Unlock()
	u.changed(c.Generation, from, to)
}

// news returns the state that was last told, and the one to tell now. A connection to a URL that was
// not heard of is not told to be healthy. The caller holds the lock.
func (u *Upstream) news() (from, to health.State) {
	from, to = u.told, u.tracker.State()
	u.told = to
	return from, to
}

func (u *Upstream) changed(generation int, from, to health.State) {
	if from != to {
		u.emit(event.Event{Kind: event.HealthChanged, Generation: generation, From: from.String(), To: to.String()})
	}
}

func (u *Upstream) setConn(c *Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.conn = c
}

// End begins to stop the server. Serve does so when its context ends, but its goroutine may be
// blocked by a client that does not read.
func (u *Upstream) End() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil {
		u.conn.End(ClientLeft, u.hurried)
	}
}

// Last reports that nothing is due from the server any more: however it ends, it is not started again.
func (u *Upstream) Last() { u.last.Store(true) }

// wasLast reports whether a process ended after Last.
func (u *Upstream) wasLast(e Evidence) bool { return u.last.Load() && e.Spawn == nil }

// Hurry makes a stop that is in progress skip the wait for a voluntary exit.
func (u *Upstream) Hurry() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hurried = true
	if u.conn != nil {
		u.conn.Hurry()
	}
}

func (u *Upstream) hurryIfAsked(c *Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hurried {
		c.Hurry()
	}
}

// Record records the outcome of a call or a probe.
func (u *Upstream) Record(generation int, o health.Outcome, latency time.Duration, now time.Time) {
	u.mu.Lock()
	u.tracker.Record(generation, o, latency, now)
	from, to := u.news()
	u.mu.Unlock()
	u.changed(generation, from, to)
}

// Health returns the current state, which is cached.
func (u *Upstream) Health() health.State { return u.tracker.State() }

// Snapshot returns the state with its counters. A process that is stopped is unresponsive, although no call
// has shown it yet: it is looked at because the user asks.
func (u *Upstream) Snapshot() health.Snapshot {
	u.mu.Lock()
	s, conn := u.tracker.Snapshot(), u.conn
	u.mu.Unlock()
	s.NextTry, s.Asleep = Soonest(s.NextTry, time.Now()), u.asked.asleep.Load()
	if s.State > health.Unresponsive && conn != nil && conn.Halted() {
		s.State = health.Unresponsive
	}
	return s
}
