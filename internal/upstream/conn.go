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

// Reader receives what a server sends. Calls do not overlap. Calls about one stream of bytes come
// in its order, and the last one before Conn.Done is closed, except for requests that linger.
type Reader interface {
	Message(c *Conn, m *wire.Message)
	TooLong(c *Conn, long *wire.TooLong)
	Stray(c *Conn, line []byte)
	// Rest reports that there is nothing more to read at the moment.
	Rest(c *Conn)
	// Lost reports that the request with this id, as it was sent, ended without a response although
	// the connection continues. Only over HTTP.
	Lost(c *Conn, id []byte, loss Loss)
	// Gap reports that messages that belong to no request may have been missed. Only over HTTP.
	Gap(c *Conn)
}

// link carries the bytes of a connection: pipes or HTTP.
type link interface {
	// put queues one line, given in parts; end identifies it for delivery.
	put(how Sending, parts [][]byte) (end int64, err error)
	flush()
	await()
	blocked() bool
	drop(end int64)                 // the response is no longer needed
	lingers(end int64) bool         // see Conn.Lingers
	quietSince(end int64) time.Time // see Conn.QuietSince
	dismiss()
	gone() <-chan struct{}
	delivery(end int64) fault.Delivery // valid once the connection is done
	starting() bool
	vitals() Vitals
	pid() int
}

// Conn is one generation of one connection. Once broken it is never reused, and Evidence says why.
type Conn struct {
	Generation int
	Started    time.Time

	link
	pipes        *pipes // the link, if it is pipes: saves a copy on the busiest path
	reader       Reader
	lastByte     atomic.Int64 // when the last byte arrived, in nanoseconds since Started
	firstMessage atomic.Int64 // when the first message arrived, likewise; 0 before
	onMessage    func()       // called for the first message; may be nil
	midLine      atomic.Bool  // the last byte was not the end of a line
	used         atomic.Bool  // a client's request after the handshake was answered
	inputEnded   atomic.Bool  // EndInput was called

	logs   io.Writer // receives the server's stderr; never blocks
	stderr ring
	strays strays
	effort effort

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

func newConn(generation int, started time.Time, reader Reader, logs io.Writer) *Conn {
	return &Conn{Generation: generation, Started: started, reader: reader, logs: logs, effort: effort{seen: started},
		hurry: make(chan struct{}), broken: make(chan struct{}), done: make(chan struct{})}
}

// strays keeps the first lines that are not messages.
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

// stray keeps a line that is not a message as evidence and logs it.
func (c *Conn) stray(line []byte) {
	c.strays.add(line)
	io.WriteString(c.logs, redact.Quote(string(line[:min(len(line), 1000)]))+"\n")
	c.reader.Stray(c, line)
}

// noteByte records that a byte arrived.
func (c *Conn) noteByte() { c.lastByte.Store(int64(time.Since(c.Started))) }

// noteMessage records the first message.
func (c *Conn) noteMessage() {
	if c.firstMessage.Load() == 0 && c.firstMessage.CompareAndSwap(0, int64(time.Since(c.Started))) && c.onMessage != nil {
		c.onMessage()
	}
}

// Answered records that a client's request was answered. After the handshake, that makes the
// connection a useful one.
func (c *Conn) Answered(handshake bool) {
	if c.used.Load() {
		return
	}
	if c.used.Store(!handshake); !handshake && c.pipes != nil {
		c.pipes.family.dying(&c.pipes.proc.group) // all processes are running now: remember them
	}
	if w, ok := c.link.(*web); ok {
		w.remote.served.Store(true)
	}
}

// Remote reports whether the server is reached over HTTP: it has no process to observe, and its
// requests are independent.
func (c *Conn) Remote() bool { return c.pipes == nil }

// Queue queues a line, given in parts and with its line end, without sending it. end identifies it
// for Delivery.
func (c *Conn) Queue(parts ...[]byte) (end int64, err error) {
	return c.QueueWith(Sending{}, parts...)
}

// Sending is how a message is sent over HTTP.
type Sending struct {
	Header http.Header // repeats parts of the message
	Once   bool        // it may have an effect, so it is sent at most once, whatever the server answers
}

// QueueWith is Queue for a message over HTTP.
func (c *Conn) QueueWith(how Sending, parts ...[]byte) (end int64, err error) {
	if c.pipes != nil {
		return c.pipes.out.put(parts)
	}
	return c.put(how, slices.Clone(parts))
}

// AwaitRoom blocks while too much is queued for the server, until it has read some of it or the
// connection ends.
func (c *Conn) AwaitRoom() { c.await() }

// Flush sends what is queued. It never waits for the server.
func (c *Conn) Flush() { c.flush() }

// EndInput closes the stdin of a process once it has read everything that is queued: nothing follows. Its
// exit is then not a failure. A server at a URL is not told.
func (c *Conn) EndInput() {
	if c.pipes != nil && !c.inputEnded.Swap(true) {
		go c.pipes.endInput()
	}
}

// InputEnded reports whether nothing can be sent any more because of EndInput.
func (c *Conn) InputEnded() bool { return c.inputEnded.Load() }

// Blocked reports whether the server does not read what was sent.
func (c *Conn) Blocked() bool { return c.blocked() }

// Drop reports that the response to this message is no longer needed. Over HTTP its request is
// canceled.
func (c *Conn) Drop(end int64) { c.drop(end) }

// Lingers reports, after Done, whether a request continues: over HTTP the server may still answer
// it. The reader gets the response or the loss.
func (c *Conn) Lingers(end int64) bool { return c.lingers(end) }

// QuietSince returns since when nothing was heard on the stream that was resumed after the response to
// this message was cut off; zero if none was.
func (c *Conn) QuietSince(end int64) time.Time { return c.quietSince(end) }

// Settle waits briefly if a process of an idle server is being killed: it might still read what it
// is sent and die. A server that sent something within quietTime is not checked.
func (c *Conn) Settle(now time.Time) {
	if c.pipes != nil && now.Sub(c.LastHeard()) > quietTime {
		c.pipes.settle()
	}
}

// quietTime is how long a server must be silent before its processes are checked: the check is
// cheap compared with such a pause.
const quietTime = 50 * time.Millisecond

// LastHeard returns when the last byte arrived from the server, or its start if none has.
func (c *Conn) LastHeard() time.Time { return c.Started.Add(time.Duration(c.lastByte.Load())) }

// MidLine reports whether the server is in the middle of a line.
func (c *Conn) MidLine() bool { return c.midLine.Load() }

// Overdue reports whether the server has been idle for patience since a request at asked: it wrote
// nothing and used no CPU. A server that is busy starting (a download, an import, a build) gets up
// to maxStart.
func (c *Conn) Overdue(asked, now time.Time, patience time.Duration) bool {
	if now.Sub(asked) > max(patience, maxStart) {
		return true
	}
	idle := func(since time.Time) bool { return now.Sub(since) > patience }
	return idle(asked) && idle(c.LastHeard()) && idle(c.stderr.lastWrite()) && idle(c.effort.last(c.Vitals, now, patience/20))
}

// Starting reports whether the server has sent no message and not read the first one that it was
// sent, so that it cannot have answered yet.
func (c *Conn) Starting() bool { return c.firstMessage.Load() == 0 && c.starting() }

// Spoke reports whether the server has sent a message.
func (c *Conn) Spoke() bool { return c.firstMessage.Load() > 0 }

// PID returns the id of the process that gauze started, or 0.
func (c *Conn) PID() int { return c.pid() }

// Vitals is what the system reports about the server's processes.
type Vitals struct {
	Known   bool
	Stopped bool          // by a signal such as SIGSTOP: nothing runs that reads messages
	Held    bool          // a debugger holds one of them
	CPU     time.Duration // used so far by all of them
}

// Vitals returns the current state of the processes.
func (c *Conn) Vitals() Vitals { return c.vitals() }

// Halted reports whether the server's process is stopped, so that it cannot answer. It is looked at now, at
// the cost of one or two small files; of a server at a URL nothing is known.
func (c *Conn) Halted() bool {
	return c.pipes != nil && time.Since(c.LastHeard()) > quietTime && c.pipes.halted()
}

// Reasons of an end that is not a failure.
const (
	ClientLeft  = "the client left"
	UserRestart = "the user asked for a restart" // the next generation follows immediately
)

// End ends the connection for the given reason; now skips the wait for a voluntary exit. It returns
// immediately; Done is closed when the end is complete.
func (c *Conn) End(reason string, now bool) {
	if now {
		c.Hurry()
	}
	c.ending.Do(func() {
		c.reason = reason
		close(c.broken)
	})
}

// Refuse ends a connection on which a request failed permanently before the server was of any use:
// the fault is not in the request.
func (c *Conn) Refuse(l Loss) {
	if w, ok := c.link.(*web); ok {
		w.refuse(l)
	}
}

// Hurry skips the wait for a voluntary exit.
func (c *Conn) Hurry() { c.hurrying.Do(func() { close(c.hurry) }) }

// Done is closed when the process was reaped and its group is gone, or the last HTTP exchange
// ended, and the last byte was delivered.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Evidence returns what was recorded. It is valid after Done.
func (c *Conn) Evidence() Evidence { return c.evidence }

// Glimpse returns what a running server has written besides its messages.
func (c *Conn) Glimpse() *fault.Evidence {
	c.strays.mu.Lock()
	defer c.strays.mu.Unlock()
	return &fault.Evidence{Ran: time.Since(c.Started), Stderr: c.stderr.lines(12), Stdout: append([]string(nil), c.strays.lines...)}
}

// StderrSince returns what the server wrote to stderr after a time, as far as it is kept.
func (c *Conn) StderrSince(t time.Time) string { return string(c.stderr.since(t, MaxTextBytes)) }

// Stuck returns the evidence about a server that runs but does not answer.
func (c *Conn) Stuck(method string, asked time.Time) Evidence {
	e := Evidence{Stage: Started, Remote: c.Remote(), Ran: time.Since(c.Started), StderrTail: c.stderr.tail(MaxStderrBytes),
		Limit: AtLimit{Passed: true, Waiting: method, After: time.Since(asked), Alive: true}}
	if c.firstMessage.Load() > 0 {
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

// Delivery returns, after Done, how far the message got whose closing brace is at end. It is Unsent
// if the server provably never read that brace: a server that reads by line or by value cannot have
// acted on it.
func (c *Conn) Delivery(end int64) fault.Delivery { return c.delivery(end) }
