package life

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Reader receives what a server sends, as upstream.Reader does.
type Reader interface {
	Message(m *wire.Message)
	TooLong(long *wire.TooLong)
	Stray(line []byte)
	Rest()
	Lost(id []byte, loss Loss)
	Gap()
}

// Record is what is noted about one connection from its start to its end. The connection writes it,
// and the supervisor reads it and asks for the end.
type Record struct {
	Started   time.Time
	Reader    Reader
	Logs      io.Writer   // receives the server's stderr; never blocks
	OnMessage func()      // called for the first message; may be nil
	MidLine   atomic.Bool // the last byte was not the end of a line
	Used      atomic.Bool // a client's request after the handshake was answered
	Joined    atomic.Bool // a message was printed over several lines
	Greeted   atomic.Bool // initialize or server/discover was answered with a result
	Stderr    Tail
	Output    *Output        // keeps what the server prints; may be nil
	Secrets   redact.Secrets // are hidden before a line is cut

	lastByte     atomic.Int64 // when the last byte arrived, in nanoseconds since Started
	firstMessage atomic.Int64 // when the first message arrived, likewise; 0 before
	strays       strays

	ending   sync.Once
	reason   string        // why gauze ended it; written inside ending
	broken   chan struct{} // closed when gauze ends it
	hurrying sync.Once
	hurry    chan struct{} // closed to skip the wait for a voluntary exit

	done chan struct{}
	// Valid once done is closed.
	ended    time.Time
	evidence Evidence
}

// NewRecord returns the record of a connection that begins now.
func NewRecord(reader Reader, logs io.Writer) *Record {
	return &Record{Started: time.Now(), Reader: reader, Logs: logs,
		hurry: make(chan struct{}), broken: make(chan struct{}), done: make(chan struct{})}
}

// NoteByte records that a byte arrived.
func (r *Record) NoteByte() { r.lastByte.Store(int64(time.Since(r.Started))) }

// LastHeard returns when the last byte arrived from the server, or its start if none has.
func (r *Record) LastHeard() time.Time { return r.Started.Add(time.Duration(r.lastByte.Load())) }

// NoteMessage records the first message.
func (r *Record) NoteMessage() {
	if r.firstMessage.Load() == 0 && r.firstMessage.CompareAndSwap(0, int64(time.Since(r.Started))) && r.OnMessage != nil {
		r.OnMessage()
	}
}

// FirstMessage returns how long after its start the server sent its first message, 0 if it has sent
// none.
func (r *Record) FirstMessage() time.Duration { return time.Duration(r.firstMessage.Load()) }

// Spoke reports whether the server has sent a message.
func (r *Record) Spoke() bool { return r.firstMessage.Load() > 0 }

// Stray keeps a line that is not a message as evidence, logs it and passes it on.
func (r *Record) Stray(line []byte) {
	r.strays.add(beginning(line, maxStrayBytes, r.Secrets))
	r.Output.Stdout(line)
	io.WriteString(r.Logs, redact.Quote(beginning(line, maxLineBytes, r.Secrets))+"\n")
	r.Reader.Stray(line)
}

// LastLines returns the last lines that the server wrote to stderr.
func (r *Record) LastLines() []string { return r.Stderr.Lines(12, r.Secrets) }

// Strays returns the first lines that are not messages.
func (r *Record) Strays() []string {
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	return slices.Clone(r.strays.lines)
}

// maxStrayBytes limits a line in strays.
const maxStrayBytes = 200

// strays keeps the first lines that are not messages.
type strays struct {
	mu    sync.Mutex
	lines []string
}

func (s *strays) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) < 20 {
		s.lines = append(s.lines, line)
	}
}

// Reasons of an end that is not a failure.
const (
	ClientLeft  = "the client disconnected"
	UserRestart = "the user asked for a restart"  // the next generation follows immediately
	NewCommand  = "its entry in the file changed" // the same
	NotNeeded   = "it was not in use"             // the next generation follows when it is needed
)

// End asks for the end of the connection for the given reason; now skips the wait for a voluntary
// exit. It returns immediately; Done is closed when the end is complete.
func (r *Record) End(reason string, now bool) {
	if now {
		r.Hurry()
	}
	r.ending.Do(func() {
		r.reason = reason
		close(r.broken)
	})
}

// Broken is closed when gauze ends the connection.
func (r *Record) Broken() <-chan struct{} { return r.broken }

// Hurry skips the wait for a voluntary exit.
func (r *Record) Hurry() { r.hurrying.Do(func() { close(r.hurry) }) }

// Hurried is closed by Hurry.
func (r *Record) Hurried() <-chan struct{} { return r.hurry }

// Conclude returns the evidence that every connection has, about one that ended at a time. From here
// on, End changes nothing.
func (r *Record) Conclude(ended time.Time) Evidence {
	r.ending.Do(func() {})
	r.ended = ended
	e := Evidence{Stage: Started, Ran: ended.Sub(r.Started), Stderr: r.LastLines(), Stray: r.Strays(), ByUs: r.reason,
		Used: r.Used.Load(), Greeted: r.Greeted.Load(), Joined: r.Joined.Load()}
	if first := r.FirstMessage(); first > 0 {
		e.Stage, e.Served = Spoke, e.Ran-first
	}
	return e
}

// Finish publishes the evidence and closes Done.
func (r *Record) Finish(e Evidence) {
	r.evidence = e
	close(r.done)
}

// Done is closed when the end of the connection is complete.
func (r *Record) Done() <-chan struct{} { return r.done }

// Ended returns when the connection ended. It is valid after Done.
func (r *Record) Ended() time.Time { return r.ended }

// Evidence returns what was recorded. It is valid after Done.
func (r *Record) Evidence() Evidence { return r.evidence }
