package upstream

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/web"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
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

// link carries the messages of a connection: pipes or HTTP.
type link interface {
	Flush()
	Await()
	Delivery(end int64) fault.Delivery // valid once the connection is done
}

// Conn is one generation of one connection. Once broken it is never reused, and Evidence says why.
type Conn struct {
	Generation int
	Started    time.Time

	rec        *life.Record
	link       link
	pipes      *process.Pipes // the link to a process; nil if the server is at a URL
	web        *web.Session   // the link to a server at a URL; nil if it is a process
	effort     effort
	inputEnded atomic.Bool // EndInput was called
}

// launchConn starts the server and begins to read its output.
func launchConn(spec launch.Spec, generation int, reader Reader, logs io.Writer, output *life.Output, guard *process.Guard, maxMessage int) (*Conn, error) {
	c := newConn(generation, reader, logs)
	c.rec.Output, c.rec.Secrets = output, spec.Secrets()
	pipes, err := process.Launch(spec, c.rec, guard)
	if err != nil {
		return nil, err
	}
	c.link, c.pipes = pipes, pipes
	c.begin()
	go pipes.Serve(maxMessage)
	return c, nil
}

// dial prepares a connection to a URL. It sends nothing.
func dial(remote *Remote, generation int, reader Reader, logs io.Writer, output *life.Output, confirm Confirm, maxMessage int) *Conn {
	c := newConn(generation, reader, logs)
	c.rec.Output = output
	c.web = web.Dial(remote, c.rec, confirm, maxMessage)
	c.link = c.web
	c.begin()
	go c.web.Serve()
	return c
}

func newConn(generation int, reader Reader, logs io.Writer) *Conn {
	c := &Conn{Generation: generation}
	c.effort.look = c.Vitals
	c.rec = life.NewRecord(heard{c, reader}, logs)
	return c
}

func (c *Conn) begin() { c.Started, c.effort.seen = c.rec.Started, c.rec.Started }

// heard passes on what a connection receives, with the connection.
type heard struct {
	c      *Conn
	reader Reader
}

func (h heard) Message(m *wire.Message)    { h.reader.Message(h.c, m) }
func (h heard) TooLong(long *wire.TooLong) { h.reader.TooLong(h.c, long) }
func (h heard) Stray(line []byte)          { h.reader.Stray(h.c, line) }
func (h heard) Rest()                      { h.reader.Rest(h.c) }
func (h heard) Lost(id []byte, loss Loss)  { h.reader.Lost(h.c, id, loss) }
func (h heard) Gap()                       { h.reader.Gap(h.c) }

// Answered records that a client's request was answered. After the handshake, that makes the
// connection a useful one.
func (c *Conn) Answered(handshake bool) {
	if c.rec.Used.Load() {
		return
	}
	if c.rec.Used.Store(!handshake); !handshake && c.pipes != nil {
		c.pipes.Remember()
	}
	if c.web != nil {
		c.web.Answered()
	}
}

// Greeted records that initialize or server/discover was answered with a result, also by gauze: the server is able
// to start.
func (c *Conn) Greeted() { c.rec.Greeted.Store(true) }

// Remote reports whether the server is reached over HTTP: it has no process to observe, and its
// requests are independent.
func (c *Conn) Remote() bool { return c.pipes == nil }

// Queue queues a line, given in parts and with its line end, without sending it. end identifies it
// for Delivery.
func (c *Conn) Queue(parts ...[]byte) (end int64, err error) {
	return c.QueueWith(Sending{}, parts...)
}

// QueueWith is Queue for a message over HTTP.
func (c *Conn) QueueWith(how Sending, parts ...[]byte) (end int64, err error) {
	if c.pipes != nil {
		return c.pipes.Put(parts) // not through an interface, which would move parts to the heap
	}
	return c.web.Put(how, parts)
}

// AwaitRoom blocks while too much is queued for the server, until it has read some of it or the
// connection ends.
func (c *Conn) AwaitRoom() { c.link.Await() }

// Flush sends what is queued. It never waits for the server.
func (c *Conn) Flush() { c.link.Flush() }

// EndInput closes the stdin of a process once it has read everything that is queued: nothing follows. Its
// exit is then not a failure. A server at a URL is not told.
func (c *Conn) EndInput() {
	if c.pipes != nil && !c.inputEnded.Swap(true) {
		go c.pipes.EndInput()
	}
}

// InputEnded reports whether nothing can be sent any more because of EndInput.
func (c *Conn) InputEnded() bool { return c.inputEnded.Load() }

// Blocked reports whether the server does not read what was sent.
func (c *Conn) Blocked() bool { return c.pipes != nil && c.pipes.Blocked() }

// Drop reports that the response to this message is no longer needed. Over HTTP its request is
// canceled.
func (c *Conn) Drop(end int64) {
	if c.web != nil {
		c.web.Drop(end)
	}
}

// Lingers reports, after Done, whether a request continues: over HTTP the server may still answer
// it. The reader gets the response or the loss.
func (c *Conn) Lingers(end int64) bool { return c.web != nil && c.web.Lingers(end) }

// QuietSince returns since when nothing was heard on the stream that was resumed after the response to
// this message was cut off; zero if none was.
func (c *Conn) QuietSince(end int64) (since time.Time) {
	if c.web != nil {
		since = c.web.QuietSince(end)
	}
	return since
}

// Unheard reports whether a server behind a URL has not begun to respond to this message.
func (c *Conn) Unheard(end int64) bool { return c.web != nil && c.web.Unheard(end) }

// Settle waits briefly if a process of an idle server is being killed: it might still read what it
// is sent and die. A server that sent something within quietTime is not checked.
func (c *Conn) Settle(now time.Time) {
	if c.pipes != nil && now.Sub(c.LastHeard()) > quietTime {
		c.pipes.Settle()
	}
}

// quietTime is how long a server must be silent before its processes are checked: the check is
// cheap compared with such a pause.
const quietTime = 50 * time.Millisecond

// LastHeard returns when the last byte arrived from the server, or its start if none has.
func (c *Conn) LastHeard() time.Time { return c.rec.LastHeard() }

// MidLine reports whether the server is in the middle of a line.
func (c *Conn) MidLine() bool { return c.rec.MidLine.Load() }

// Overdue reports whether the server has been idle for patience since a request at asked: it wrote
// nothing and used no CPU. A server that is busy starting (a download, an import, a build) gets up
// to maxStart.
func (c *Conn) Overdue(asked, now time.Time, patience time.Duration) bool {
	if now.Sub(asked) > max(patience, maxStart) {
		return true
	}
	idle := func(since time.Time) bool { return now.Sub(since) > patience }
	return idle(asked) && idle(c.LastHeard()) && idle(c.rec.Stderr.LastWrite()) && idle(c.effort.last(now, patience/20))
}

// Starting reports whether the server has sent no message and not read the first one that it was
// sent, so that it cannot have answered yet.
func (c *Conn) Starting() bool { return !c.Spoke() && c.unread() }

func (c *Conn) unread() bool { return c.pipes != nil && c.pipes.Unread() }

// Spoke reports whether the server has sent a message.
func (c *Conn) Spoke() bool { return c.rec.Spoke() }

// PID returns the id of the process that gauze started, or 0.
func (c *Conn) PID() (pid int) {
	if c.pipes != nil {
		pid = c.pipes.PID()
	}
	return pid
}

// Vitals returns the current state of the processes.
func (c *Conn) Vitals() (v process.Vitals) {
	if c.pipes != nil {
		v = c.pipes.Vitals()
	}
	return v
}

// Halted reports whether the server's process is stopped, so that it cannot answer. It is looked at now, at
// the cost of one or two small files; of a server at a URL nothing is known.
func (c *Conn) Halted() bool {
	return c.pipes != nil && time.Since(c.LastHeard()) > quietTime && c.pipes.Halted()
}

// End ends the connection for the given reason; now skips the wait for a voluntary exit. It returns
// immediately; Done is closed when the end is complete.
func (c *Conn) End(reason string, now bool) { c.rec.End(reason, now) }

// Refuse ends a connection on which a request failed permanently before the server was of any use:
// the fault is not in the request.
func (c *Conn) Refuse(l Loss) {
	if c.web != nil {
		c.web.Refuse(l)
	}
}

// Hurry skips the wait for a voluntary exit.
func (c *Conn) Hurry() { c.rec.Hurry() }

// Done is closed when the process was reaped and its group is gone, or the last HTTP exchange
// ended, and the last byte was delivered.
func (c *Conn) Done() <-chan struct{} { return c.rec.Done() }

// Evidence returns what was recorded. It is valid after Done.
func (c *Conn) Evidence() Evidence { return c.rec.Evidence() }

// Glimpse returns what a running server has written besides its messages.
func (c *Conn) Glimpse() *fault.Evidence {
	return &fault.Evidence{Ran: time.Since(c.Started), Stderr: c.rec.LastLines(), Stdout: c.rec.Strays()}
}

// StderrSince returns what the server wrote to stderr after a time, as far as it is kept.
func (c *Conn) StderrSince(t time.Time) string {
	return string(c.rec.Stderr.Since(t, life.MaxTextBytes))
}

// Stuck returns the evidence about a server that runs but does not answer.
func (c *Conn) Stuck(method string, asked time.Time) Evidence {
	e := Evidence{Stage: Started, Remote: c.Remote(), Ran: time.Since(c.Started), Stray: c.rec.Strays(), StderrTail: c.rec.Stderr.Tail(life.MaxStderrBytes),
		Limit: AtLimit{Passed: true, Waiting: method, After: time.Since(asked), Alive: true, Unread: c.unread(), Survey: c.survey()}}
	e.Limit.Stopped = c.Vitals().Stopped
	if c.Spoke() {
		e.Stage = Spoke
	}
	return e
}

// Delivery returns, after Done, how far the message got whose closing brace is at end. It is Unsent
// if the server provably never read that brace: a server that reads by line or by value cannot have
// acted on it.
func (c *Conn) Delivery(end int64) fault.Delivery { return c.link.Delivery(end) }

// Logins returns the login of the connection, or nil if it has none.
func (c *Conn) Logins() *Logins {
	if c.web == nil {
		return nil
	}
	return c.web.Logins()
}

// survey describes the processes of the server.
func (c *Conn) survey() (s Survey) {
	if c.pipes != nil {
		s = c.pipes.Survey()
	}
	return s
}

// dismiss ends the requests that continue after Done.
func (c *Conn) dismiss() {
	if c.web != nil {
		c.web.Dismiss()
	}
}

// gone is closed when no request continues.
func (c *Conn) gone() <-chan struct{} {
	if c.web != nil {
		return c.web.Gone()
	}
	return c.Done()
}
