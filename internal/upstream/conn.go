package upstream

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Reader gets what the server says. One call comes at a time, those about one
// stream of bytes in its order, the last of them before Conn.Done closes:
// nothing of an old generation is heard later, except about the requests that
// linger.
type Reader interface {
	Message(c *Conn, m *wire.Message)
	TooLong(c *Conn, long *wire.TooLong)
	Stray(c *Conn, line []byte)
	Rest(c *Conn) // nothing more to read at the moment
	// Lost: the request with this id, as it was sent, ended without an answer
	// although the connection goes on. Over HTTP only.
	Lost(c *Conn, id []byte, loss Loss)
	// Gap: messages that belong to no request may have been missed. Over HTTP
	// only.
	Gap(c *Conn)
}

// link is the way the bytes of a connection take: pipes, or HTTP.
type link interface {
	// put takes one line in parts; end identifies it for delivery. header is
	// for HTTP: what the message repeats outside of its body.
	put(header http.Header, parts [][]byte) (end int64, err error)
	flush()
	await()
	blocked() bool
	drop(end int64)         // nobody waits for the answer any more
	lingers(end int64) bool // see Conn.Lingers
	dismiss()
	gone() <-chan struct{}
	delivery(end int64) fault.Delivery // valid once the connection is done
	starting() bool
	vitals() Vitals
	pid() int
}

// Conn is one generation of one connection: once broken, never reused; it
// says why.
type Conn struct {
	Generation int
	Started    time.Time

	link
	pipes *pipes // the link, if it is one: spares the busiest path a copy
	hear  Reader
	heard atomic.Int64 // when the last byte came, in nanoseconds since Started
	spoke atomic.Int64 // when the first message came, the same; 0: none yet
	inMid atomic.Bool  // the last byte was not the end of a line
	used  atomic.Bool  // a client's request beyond the handshake was answered

	logs   io.Writer // where the server's stderr goes; never blocks
	stderr ring
	strays strays
	effort effort

	ending   sync.Once
	reason   string        // why we ended it; written inside ending
	broken   chan struct{} // closed: we end it
	hurrying sync.Once
	hurry    chan struct{} // closed: do not wait for a voluntary end

	done chan struct{}
	// Valid once done is closed.
	ended    time.Time
	evidence Evidence
}

func newConn(generation int, started time.Time, hear Reader, logs io.Writer) *Conn {
	return &Conn{Generation: generation, Started: started, hear: hear, logs: logs, effort: effort{seen: started},
		hurry: make(chan struct{}), broken: make(chan struct{}), done: make(chan struct{})}
}

// strays keeps the first lines that were no messages.
type strays struct {
	mu    sync.Mutex
	lines []string
	count int
}

func (s *strays) add(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if len(s.lines) < 20 {
		s.lines = append(s.lines, string(line[:min(len(line), 200)]))
	}
}

// stray: the line is evidence, and it goes where logs belong.
func (c *Conn) stray(line []byte) {
	c.strays.add(line)
	io.WriteString(c.logs, redact.Quote(string(line[:min(len(line), 1000)]))+"\n")
	c.hear.Stray(c, line)
}

// hears notes that something came: any byte is life.
func (c *Conn) hears() { c.heard.Store(int64(time.Since(c.Started))) }

// speaks notes the first message.
func (c *Conn) speaks() {
	if c.spoke.Load() == 0 {
		c.spoke.Store(int64(time.Since(c.Started)))
	}
}

// Answered notes that a request of the client's was answered. Beyond the
// handshake that makes the connection one that was of use, whatever becomes of
// it.
func (c *Conn) Answered(handshake bool) {
	if c.used.Load() {
		return
	}
	if c.used.Store(!handshake); !handshake && c.pipes != nil {
		c.pipes.kin.dying(&c.pipes.proc.group) // it is all there now: find out who belongs to it
	}
	if w, ok := c.link.(*web); ok {
		w.remote.served.Store(true)
	}
}

// Remote reports whether the server is reached over HTTP: there is no process
// to look at, and every request is on its own.
func (c *Conn) Remote() bool { return c.pipes == nil }

// Queue puts a line, in parts and with its line end, on its way without
// sending it yet; end identifies it for Delivery.
func (c *Conn) Queue(parts ...[]byte) (end int64, err error) {
	return c.QueueWith(nil, parts...)
}

// QueueWith is Queue for HTTP: header is what the message repeats outside of
// its body.
func (c *Conn) QueueWith(header http.Header, parts ...[]byte) (end int64, err error) {
	if c.pipes != nil {
		return c.pipes.out.put(parts)
	}
	return c.put(header, slices.Clone(parts))
}

// AwaitRoom blocks while too much is queued for the server, until it has read
// some of it or the connection ends.
func (c *Conn) AwaitRoom() { c.await() }

// Flush sends what is queued. It never waits for the server.
func (c *Conn) Flush() { c.flush() }

// Blocked reports whether the server does not read what was sent.
func (c *Conn) Blocked() bool { return c.blocked() }

// Drop says that nobody waits for the answer to this message any more. Over
// HTTP its request is hung up.
func (c *Conn) Drop(end int64) { c.drop(end) }

// Lingers reports, after Done, whether a request goes on by itself: over HTTP
// the server may still answer it. The reader will hear how it went, or that it
// is lost.
func (c *Conn) Lingers(end int64) bool { return c.lingers(end) }

// Settle waits a moment if a process of an idle server is just being killed:
// it might still read what it is sent and die with it. One that was heard
// within quietTime is not looked at.
func (c *Conn) Settle(now time.Time) {
	if c.pipes != nil && now.Sub(c.LastHeard()) > quietTime {
		c.pipes.settle()
	}
}

// quietTime of silence makes a look at the server's processes cheap compared
// with the pause there was.
const quietTime = 50 * time.Millisecond

// LastHeard is when the last byte came from the server, its start if none did.
func (c *Conn) LastHeard() time.Time { return c.Started.Add(time.Duration(c.heard.Load())) }

// MidLine reports whether the server is in the middle of a line.
func (c *Conn) MidLine() bool { return c.inMid.Load() }

// Overdue reports whether the server has been idle for patience since it was
// asked something: it wrote nothing and used no CPU. One that is busy starting
// (a download, an import, a build) is given up to maxStart.
func (c *Conn) Overdue(asked, now time.Time, patience time.Duration) bool {
	if now.Sub(asked) > max(patience, maxStart) {
		return true
	}
	idle := func(since time.Time) bool { return now.Sub(since) > patience }
	return idle(asked) && idle(c.LastHeard()) && idle(c.stderr.lastWrite()) && idle(c.effort.last(c.Vitals, now, patience/20))
}

// Starting reports whether the server has neither said a word nor read the
// first that was said to it: it cannot be blamed for not answering yet.
func (c *Conn) Starting() bool { return c.spoke.Load() == 0 && c.starting() }

// PID is the process we started, 0 if there is none.
func (c *Conn) PID() int { return c.pid() }

// Vitals is what the system knows of the server's processes.
type Vitals struct {
	Known   bool
	Stopped bool          // SIGSTOP, a debugger
	CPU     time.Duration // used so far by all of them
}

// Vitals looks at the processes now.
func (c *Conn) Vitals() Vitals { return c.vitals() }

// ClientLeft is the reason of an end that nobody is to blame for.
const ClientLeft = "the client left"

// End closes the connection from our side and says why; now skips the wait
// for a voluntary end. It returns at once, Done tells when it is over.
func (c *Conn) End(reason string, now bool) {
	if now {
		c.Hurry()
	}
	c.ending.Do(func() {
		c.reason = reason
		close(c.broken)
	})
}

// Refuse closes a connection on which a request was lost for good before the
// server was of any use: what is wrong is not the request.
func (c *Conn) Refuse(l Loss) {
	if w, ok := c.link.(*web); ok {
		w.refuse(l)
	}
}

// Hurry cuts the first step of the stop ladder short.
func (c *Conn) Hurry() { c.hurrying.Do(func() { close(c.hurry) }) }

// Done closes when the process is reaped and its group is gone, or the last
// HTTP exchange is over, and the last byte was heard.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Evidence is what we saw. Valid after Done.
func (c *Conn) Evidence() Evidence { return c.evidence }

// Glimpse is what a server that still runs has said beside its messages.
func (c *Conn) Glimpse() *fault.Evidence {
	c.strays.mu.Lock()
	defer c.strays.mu.Unlock()
	return &fault.Evidence{Ran: time.Since(c.Started), Stderr: c.stderr.lines(12), Stdout: append([]string(nil), c.strays.lines...)}
}

// Stuck is what there is to see of a server that runs but does not answer.
func (c *Conn) Stuck(method string, asked time.Time) Evidence {
	e := Evidence{Stage: Started, Remote: c.Remote(), Ran: time.Since(c.Started), StderrTail: c.stderr.tail(MaxStderrBytes),
		Limit: AtLimit{Passed: true, Waiting: method, After: time.Since(asked), Alive: true}}
	if c.spoke.Load() > 0 {
		e.Stage = Spoke
	}
	c.strays.mu.Lock()
	e.Stray = slices.Clone(c.strays.lines)
	c.strays.mu.Unlock()
	if c.pipes != nil {
		e.Limit.Unread = c.starting()
		e.Limit.Survey = c.pipes.proc.survey(c.pipes.proc.cmd.Env)
	}
	return e
}

// Delivery judges, after Done, what became of the message whose closing brace
// ends at end: Unsent if the server provably never read that brace. Whoever
// reads line by line or value by value cannot have acted on it before.
func (c *Conn) Delivery(end int64) fault.Delivery { return c.delivery(end) }
