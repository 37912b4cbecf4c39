package proxy

import (
	"cmp"
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/correction"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/diagnosis"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/gate"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/observation"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/trace"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/llm"
)

// What users of a session need of its parts.
type (
	Timing       = kernel.Timing
	Limits       = kernel.Limits
	Class        = kernel.Class
	Told         = kernel.Told
	EndedCall    = kernel.EndedCall
	Tracer       = trace.Tracer
	TracedCall   = trace.Call
	Trace        = trace.Trace
	Sampler      = correction.Sampler
	CallDoctor   = diagnosis.Doctor
	Observation  = observation.Observation
	ObservedTool = observation.ObservedTool
)

const (
	DefaultMaxMessage = kernel.DefaultMaxMessage
	StateStarting     = kernel.StateStarting
	StateAsleep       = kernel.StateAsleep
	LookEvery         = kernel.LookEvery

	Reads      = kernel.Reads
	ReadOnly   = kernel.ReadOnly
	Idempotent = kernel.Idempotent
	Unsafe     = kernel.Unsafe
)

// RandomID returns a number from which the ids of a session that several clients share can count up.
func RandomID() uint64 { return kernel.RandomID() }

// AppendID appends an id of ours.
func AppendID(dst []byte, n uint64) []byte { return kernel.AppendID(dst, n) }

// IsOwnQuestion reports whether a request to the client with this raw id is one of gauze's own.
func IsOwnQuestion(id []byte) bool { return kernel.IsOwnQuestion(id) }

// Options configures a Session. The zero value of each is the default.
type Options struct {
	Spec   launch.Spec
	Remote *upstream.Remote  // shared by the sessions with one URL; default: its own
	Name   string            // shown to people; default: the command line or the URL, secrets masked
	Tools  map[string]Policy // by tool name
	Repair string            // off, silent, report or strict, for tools without a setting of their own
	Timing Timing
	Limits Limits

	Lazy bool          // the server is started when something needs it
	Idle time.Duration // how long a server that nothing uses is kept running; 0: as long as the session

	// Explain words explanations; see repair.Gate. May be nil.
	Explain func(repair.Explanation) string

	StartTimeout time.Duration    // idle time before a response of a starting server is overdue; default 60s
	Confirm      upstream.Confirm // when a session over HTTP is confirmed

	LastID  uint64         // see kernel.Options
	Writes  *atomic.Uint64 // see kernel.Options
	Restart upstream.Restart
	Health  health.Config
	Stderr  io.Writer // receives the server's stderr; must not block
	Events  *event.Stream
	Doctor  upstream.Doctor // consulted when the server cannot be kept running
	Calls   CallDoctor      // consulted when a tool call fails; may be nil
	Tracer  Tracer          // follows tool calls; may be nil

	SessionID string // of the client's session over HTTP; empty: it has none
	Principal string // who the client is, if that is known; others get nothing from Known that was kept for it

	Known Known // from earlier sessions

	// OpenBrowser opens the address at which the user logs in. Default: the user's browser.
	OpenBrowser func(address string) error

	ReaderGone func(ctx context.Context)       // see kernel.Options
	Opened     func(*Session) (closed func())  // called when the session begins, and closed when it has ended; may be nil
	Tell       func(Told)                      // see kernel.Options
	Models     func(string, Sampler) llm.Model // see correction.Stage; default: calls are not corrected
	Waits      Waits
}

// Known is what is known of a server from earlier sessions, and what is to happen if it has changed.
type Known struct {
	Shelf    Shelf  // keeps what the server said about itself, for sessions that begin while it is down; may be nil
	Accepted Shelf  // keeps which tools the user accepted; may be nil
	Lock     string // what happens to calls of others: LockWarn, the default, LockAsk or LockBlock
	// Written is the server that they were accepted of, if it is written with references: it stays the same whatever these
	// stand for. Default: the server itself.
	Written launch.Spec
}

// Waits says what the response to a call that failed may wait for.
type Waits struct {
	// Model is how long the response to a rejected call waits for a model, unless a policy says otherwise.
	// Default: as long as the model takes.
	Model time.Duration
	// Examine is how long the response to a failed call waits for its cause. Default 3s.
	Examine time.Duration
	Pause   func(ctx context.Context) // see repetition.Stage
}

func (o Options) withDefaults() Options {
	o.Waits.Examine = cmp.Or(o.Waits.Examine, 3*time.Second)
	o.Name = cmp.Or(o.Name, o.Spec.Shown())
	if o.OpenBrowser == nil {
		o.OpenBrowser = login.OpenBrowser
	}
	return o
}

// Label returns the server's name for models and programs: the one it was given, or its program or host.
func (o Options) Label() string { return cmp.Or(o.Name, o.Spec.Label()) }

// Session connects one client and one server.
type Session struct {
	*kernel.Session
	Options Options // as it was made
	stages  equipped
}

// equipped is what a session has beside its kernel.
type equipped struct {
	*stages
	words *words
}

// New returns a Session; Serve or Attend runs it.
func New(o Options) *Session {
	label := o.Label()
	o = o.withDefaults()
	w := &words{}
	w.use(o.Spec)
	s := &Session{Options: o, stages: equipped{newStages(&o, label, w), w}}
	k := kernel.Options{
		Name: o.Name, Label: label, Stages: s.stages.inOrder(), Others: Policy{}.kernel(o.Repair), Timing: o.Timing, Limits: o.Limits, Events: o.Events, Words: w,
		LastID: o.LastID, Writes: o.Writes, ReadTool: gate.ReadTool, Listed: gate.Prepare, Disown: disown, Idle: o.Idle, ReaderGone: o.ReaderGone, Tell: o.Tell,
		Server: upstream.Options{
			Spec: o.Spec, Lazy: o.Lazy, Remote: o.Remote, Name: o.Name, Restart: o.Restart, StartTimeout: o.StartTimeout, Confirm: o.Confirm,
			MaxMessage: cmp.Or(o.Limits.MaxMessage, DefaultMaxMessage), Stderr: o.Stderr, Events: o.Events, Health: o.Health, Doctor: w.consult(o.Doctor),
		},
	}
	if len(o.Tools) > 0 {
		k.Tools = make(map[string]kernel.Policy, len(o.Tools))
		for name, policy := range o.Tools {
			k.Tools[name] = policy.kernel(o.Repair)
		}
	}
	if s.stages.lock != nil {
		k.Sure, k.ReadTool = true, readLocked
	}
	if o.Known.Shelf != nil {
		k.Shelf = &shelf{o.Known.Shelf, w.given, o.Principal, w}
	}
	if o.Opened != nil {
		k.Opened = func() func() { return o.Opened(s) }
	}
	s.Session = kernel.New(k)
	s.stages.join(s.Session)
	return s
}

// Renew makes spec the command of a session's server, as soon as no call is in flight: the client's session is
// restored with it, as after a crash. Both must be commands.
func Renew(spec launch.Spec, s *Session) {
	s.stages.words.use(spec)
	kernel.Renew(func() { s.Upstream().Change(spec) }, s.Session)
}

// Counters counts what a session has seen.
type Counters struct {
	Calls, Answered, Failed, Unknown, Replayed, Late, Foreign, Stray, FromCache, Repaired, Corrected, Proposed, Uncorrected uint64

	ModelInputTokens, ModelOutputTokens uint64
	ModelCost                           float64 // US dollars; 0 if prices are not configured
}

// Counters returns a snapshot.
func (s *Session) Counters() Counters {
	n, by := s.Session.Counters(), s.stages.observation.Sums()
	return Counters{
		Calls: n.Calls, Answered: n.Answered, Failed: n.Failed, Unknown: n.Unknown, Replayed: n.Replayed, Late: n.Late, Foreign: n.Foreign, Stray: n.Stray, FromCache: n.FromCache,
		Repaired: by.Repaired, Corrected: by.Corrected, Proposed: by.Proposed, Uncorrected: by.Uncorrected,
		ModelInputTokens: by.ModelInputTokens, ModelOutputTokens: by.ModelOutputTokens, ModelCost: by.ModelCost,
	}
}

// Observe returns what can be seen from outside. detail includes the tools, the last calls and the
// log.
func (s *Session) Observe(detail bool) Observation { return s.stages.observation.Observe(detail) }

// Printed returns the last lines that the server printed, oldest first, without secrets.
func (s *Session) Printed() []upstream.Line { return s.stages.observation.Printed() }

// NoteVerdict counts what a task decided about the server while it failed, one of a small set of words.
func (s *Session) NoteVerdict(action string) { s.stages.observation.NoteVerdict(action) }

// words masks the secrets of a session, and what is foreign.
type words struct {
	secrets atomic.Pointer[redact.Secrets]
	spec    atomic.Pointer[launch.Spec] // of the server, as the user gave it
}

// use notes how the server is started or reached. What it printed before may have the secrets of another command.
func (w *words) use(spec launch.Spec) {
	known := spec.Secrets()
	if before := w.secrets.Load(); before != nil {
		known = redact.JoinSecrets(*before, known)
	}
	w.secrets.Store(&known)
	w.spec.Store(&spec)
}

// given returns how the server is started or reached.
func (w *words) given() (spec launch.Spec) {
	if given := w.spec.Load(); given != nil {
		spec = *given
	}
	return spec
}

func (w *words) learn(spec launch.Spec) {
	known := spec.Secrets()
	w.secrets.Store(&known)
}

func (w *words) Redact(text string) string { return w.secrets.Load().Redact(text) }

func (w *words) RedactPart(text string) string { return w.secrets.Load().RedactPart(text) }

func (w *words) Quote(text string) string { return redact.Quote(text) }

// maxClientLen limits the name of a client, in characters.
const maxClientLen = 80

func (w *words) Name(client string) string { return plaintext.Cap(redact.Quote(client), maxClientLen) }

// consult wraps the doctor to remember the secrets of the specs it returns.
func (w *words) consult(doctor upstream.Doctor) upstream.Doctor {
	if doctor == nil {
		return nil
	}
	return &consulted{doctor, w}
}

type consulted struct {
	upstream.Doctor
	words *words
}

func (d *consulted) Treat(ctx context.Context, spec launch.Spec, e upstream.Evidence, trying func(string)) upstream.Treated {
	treated := d.Doctor.Treat(ctx, spec, e, trying)
	if treated.Changed {
		d.words.learn(treated.Spec)
	}
	return treated
}
