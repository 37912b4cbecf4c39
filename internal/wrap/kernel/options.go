package kernel

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// DefaultMaxMessage is the default of Limits.MaxMessage.
const DefaultMaxMessage = wire.MaxLine

// Options configures a Session. The zero value of each is the default.
type Options struct {
	Name   string // shown to people
	Label  string // for models and programs
	Server upstream.Options
	Stages []Stage           // in the order in which they are asked
	Tools  map[string]Policy // by tool name
	Others Policy            // of all other tools
	Timing Timing
	Limits Limits
	Events *event.Stream
	Words  Words

	// LastID is the number that request ids count up from. Default 0; a session that several
	// clients share sets it to RandomID().
	LastID uint64

	// Writes counts the calls that may write, over all sessions whose servers write to the same
	// place. Default: a counter of its own.
	Writes *atomic.Uint64

	// Idle is how long a server that nothing uses is kept running. Default: as long as the session. Server.Lazy
	// leaves it asleep at first.
	Idle time.Duration

	// ReadTool reads what stages have to know of a tool that is listed, and Listed is told about some of these. before is what
	// it made of an entry with the same name in the same list, nil if there is none. May be nil.
	ReadTool func(item []byte, before any) any
	Listed   func([]any)

	// Sure makes tool calls wait until the live server has listed its tools. One that it does not list in time is refused.
	Sure bool

	// Disown removes the marks of gauze's own texts from what the server sends.
	Disown func(*wire.Message) *wire.Message

	// Shelf keeps what the server said about itself, for sessions that begin while it is down. May be nil.
	Shelf Shelf

	// ReaderGone returns once the answers have no reader any more, or ctx has ended. It is called when the
	// client has closed its side. May be nil: a write that fails shows it.
	ReaderGone func(ctx context.Context)

	// Opened is called when the session begins, and closed when it has ended. May be nil.
	Opened func() (closed func())

	// Tell receives, with Attend, the messages to the client, one at a time. It must not block,
	// call the session or keep what it is given.
	Tell func(Told)
}

// Timing says how long things may take. The zero value of each is the default.
type Timing struct {
	Timeout  time.Duration // how long a call may take without progress; default: no limit
	MaxTime  time.Duration // how long a call may take with progress; default: no limit
	Patience time.Duration // how long a call waits for a server that is down; default 30s

	ProbeInterval time.Duration // silence while a call waits before a liveness probe; default 15s
	ProbeTimeout  time.Duration // how long a probe may take; default 5s
	IdleProbe     time.Duration // time between two looks at a server that no call waits for; default: never, unless Look is called
	ResumedRead   time.Duration // silence after which a read is sent again whose stream was resumed; default 30s, negative: never
	ResumedWrite  time.Duration // silence after which any other such call is reported; default 5m, negative: never
	HangGrace     time.Duration // time without CPU, or stopped, before a silent server is replaced; default 10s

	// FinishGrace is how long answers that are due are waited for after the client closed its side: it
	// may still read, as in `printf ... | gauze run -- server`. Default 2s; negative: no limit.
	FinishGrace time.Duration

	// HangWait is how long a call waits, once the client cancelled a call, before its silent server
	// may count as hung. Default 60s.
	HangWait time.Duration

	// MaxHold is how long a call is held because of what others may do. Default 1s.
	MaxHold time.Duration

	// ListWait is how long a call waits for the list of the tools if the client has not asked for it, or
	// if the server has announced other tools since.
	// Default 2s.
	ListWait time.Duration

	// SuspectsApart is how long the repetition of a call that the server died with keeps the next one
	// waiting. A poisoned call kills fast, and a slow one must not hold up the others. Default 200ms.
	SuspectsApart time.Duration

	// DiscoverWait is how long a server may take to answer server/discover. A legacy server may
	// never answer it, and the client then falls back to initialize. Default 3s.
	DiscoverWait time.Duration

	// StartAnswer is how long a client waits for a session that cannot begin, once it is known why.
	// Default 3s: a client is to know within five, on a busy machine as well.
	StartAnswer time.Duration

	// LookInterval is how often a silent command is checked for a port at which it answers. Default 15s.
	LookInterval time.Duration
}

func (t Timing) withDefaults() Timing {
	t.HangWait = cmp.Or(t.HangWait, 60*time.Second)
	t.MaxHold = cmp.Or(t.MaxHold, time.Second)
	t.ListWait = cmp.Or(t.ListWait, listSoon)
	t.SuspectsApart = cmp.Or(t.SuspectsApart, 200*time.Millisecond)
	t.DiscoverWait = cmp.Or(t.DiscoverWait, 3*time.Second)
	t.StartAnswer = cmp.Or(t.StartAnswer, 3*time.Second)
	t.LookInterval = cmp.Or(t.LookInterval, 15*time.Second)
	t.FinishGrace = cmp.Or(t.FinishGrace, 2*time.Second)
	t.Patience = cmp.Or(t.Patience, 30*time.Second)
	t.ProbeInterval = cmp.Or(t.ProbeInterval, 15*time.Second)
	t.ProbeTimeout = cmp.Or(t.ProbeTimeout, 5*time.Second)
	t.ResumedRead = cmp.Or(t.ResumedRead, 30*time.Second)
	t.ResumedWrite = cmp.Or(t.ResumedWrite, 5*time.Minute)
	t.HangGrace = cmp.Or(t.HangGrace, 10*time.Second)
	return t
}

// Limits says how much there may be. The zero value of each is the default.
type Limits struct {
	MaxMessage  int           // bytes of the longest message that passes; default DefaultMaxMessage
	MaxQueued   int           // bytes of calls and notifications that are queued before the client is held up; default 32 MiB
	Window      int           // unsafe calls in flight; 0: no limit, after a crash 1 and slowly more
	RetryBudget int           // repetitions in a burst; default 256, negative: no limit
	Quarantine  time.Duration // how long a call in flight at two consecutive crashes is rejected; default 5m, negative: never
}

func (l Limits) withDefaults() Limits {
	l.Quarantine = cmp.Or(l.Quarantine, 5*time.Minute)
	l.RetryBudget = cmp.Or(l.RetryBudget, defaultBudget)
	l.MaxMessage = cmp.Or(l.MaxMessage, DefaultMaxMessage)
	l.MaxQueued = cmp.Or(l.MaxQueued, 32<<20)
	return l
}

// Policy is what the user configured for one tool. It overrides the server's hints.
type Policy struct {
	Replay      string        // never, safe or idempotent; empty: by the tool's hints
	Timeout     time.Duration // without progress; 0: the session's
	MaxInFlight int           // 0: no limit
	Strict      bool          // a call must not be sent unless a stage has checked it
}

// Class returns the class of the tool, given the one its hints declare.
func (p Policy) Class(hinted Class) Class {
	switch p.Replay {
	case "never":
		return Unsafe
	case "safe":
		return ReadOnly
	case "idempotent":
		return Idempotent
	}
	return hinted
}

// Words makes text that may contain secrets, or is foreign, safe to show.
type Words interface {
	Redact(string) string     // masks the secrets of the session
	RedactPart(string) string // likewise in text whose end is missing
	Quote(string) string      // one line of foreign text
	Name(string) string       // the name of a client
}
