package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Reader gets what the server says. All calls come from one goroutine, in the
// order of the bytes, the last of them before Conn.Done closes: nothing of an
// old generation is heard later.
type Reader interface {
	Message(c *Conn, m *wire.Message)
	TooLong(c *Conn, long *wire.TooLong)
	Stray(c *Conn, line []byte)
	Rest(c *Conn) // nothing more to read at the moment
}

// Conn is one generation of one connection: once broken, never reused; it
// says why.
type Conn struct {
	Generation int
	Started    time.Time

	proc  *process
	out   *outbox
	hear  Reader
	heard atomic.Int64 // when the last byte came, in nanoseconds since Started
	spoke atomic.Int64 // when the first message came, the same; 0: none yet
	inMid atomic.Bool  // the last byte was not the end of a line
	rest  int          // bytes read behind the end; of the reading goroutine

	logs   io.Writer // where the server's stderr goes; never blocks
	stderr ring
	strays strays

	ending   sync.Once
	reason   string        // why we ended it; written inside ending
	broken   chan struct{} // closed: we end the process
	hurrying sync.Once
	hurry    chan struct{} // closed: do not wait for a voluntary end

	done chan struct{}
	// Valid once done is closed.
	ended    time.Time
	evidence Evidence
	written  int64
	never    int64
	proven   bool
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

// connect starts the server as generation number and begins to listen.
func connect(spec Spec, generation int, hear Reader, logs io.Writer, guard *guard) (*Conn, error) {
	proc, err := start(spec)
	if err != nil {
		return nil, err
	}
	// Before anything else: from here on it must not survive us.
	proc.guardedBy(guard)
	out, err := newOutbox(proc.stdin)
	if err != nil {
		proc.kill()
		return nil, err
	}
	c := &Conn{
		Generation: generation, Started: proc.started,
		proc: proc, out: out, hear: hear, logs: logs,
		hurry: make(chan struct{}), broken: make(chan struct{}), done: make(chan struct{}),
	}
	go c.serve(guard)
	return c, nil
}

// How long a pipe may stay open behind a dead server, held by a grandchild
// that escaped the group's end.
const drainGrace = 250 * time.Millisecond

// pipeMost is what can lie in a pipe: an escaped grandchild that writes on
// must not be read for ever.
const pipeMost = 1 << 20

// serve owns the process from its start to the last byte.
func (c *Conn) serve(guard *guard) {
	var pipes sync.WaitGroup
	pipes.Go(c.listen)
	pipes.Go(func() { io.Copy(io.MultiWriter(&c.stderr, c.logs), c.proc.stderr) })

	select {
	case <-c.proc.exited:
	case <-c.out.broken:
		// It is dying, or it closed its stdin and lives: then it can never be
		// asked again.
		if !c.proc.endedWithin(drainGrace, c.broken) {
			c.End("it closed its stdin", true)
			c.proc.stop(c.hurry)
		}
	case <-c.broken:
		select {
		case <-c.hurry:
			// Its stdin stays open: closing it would destroy the proof of
			// what was never read.
		default:
			c.out.settle(time.Now().Add(closeGrace))
			c.proc.stdin.Close()
		}
		c.proc.stop(c.hurry)
	}
	c.ended = time.Now()
	c.proc.kill() // death is not the end of its children
	guard.release()
	// What the server wrote before it died counts: read to the end.
	limit := time.Now().Add(drainGrace)
	c.proc.stdout.SetReadDeadline(limit)
	c.proc.stderr.SetReadDeadline(limit)
	if Seeded("no-drain") {
		c.proc.stdout.Close()
	}
	if Seeded("no-fence") {
		defer pipes.Wait() // declared dead before its last words are heard
	} else {
		pipes.Wait()
	}
	c.written, c.never, c.proven = c.out.settle(time.Unix(1, 0))
	c.proc.stdin.Close()
	if !Seeded("no-fence") {
		c.proc.stdout.Close()
	}
	c.proc.stderr.Close()

	state := c.proc.cmd.ProcessState
	c.evidence = Evidence{
		Stage: Started, Exit: state.String(), Code: state.ExitCode(), Ran: c.ended.Sub(c.Started),
		Stderr: c.stderr.lines(12), Stray: c.strays.lines, ByUs: c.reason,
	}
	if c.spoke.Load() > 0 {
		c.evidence.Stage = Spoke
	}
	close(c.done)
}

// listen reads the server's stdout to its end.
func (c *Conn) listen() {
	lines := wire.NewReader(stamped{c}, 0)
	var in incoming
	for {
		line, err := lines.Next()
		var long *wire.TooLong
		switch {
		case err == nil && len(bytes.TrimSpace(line)) > 0:
			c.take(&in, line)
		case err == nil: // an empty line says nothing
		case errors.As(err, &long):
			c.hear.TooLong(c, long)
			if long.Endless {
				c.End("it floods its stdout with a line that never ends", true)
			}
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
			if n := lines.Fragment(); n > 0 {
				c.stray(fmt.Appendf(nil, "(%d bytes of an unfinished line)", n))
			}
			c.hear.Rest(c)
			// EOF is not death: a server that closed its stdout but lives can
			// never answer again.
			c.afterEOF()
			return
		default:
			c.hear.Rest(c)
			c.afterEOF()
			return
		}
		if !lines.Buffered() {
			c.hear.Rest(c)
		}
	}
}

func (c *Conn) afterEOF() {
	if !c.proc.endedWithin(drainGrace, nil) {
		c.End("it closed its stdout", true)
	}
}

// incoming is what the reading goroutine keeps from line to line.
type incoming struct {
	messages []wire.Message // room, reused
	multi    joiner
}

// take hands on the messages of one line. A line with anything else on it is
// stray as a whole: nothing is salvaged by guessing.
func (c *Conn) take(in *incoming, line []byte) {
	messages, ok := scanLine(in.messages[:0], line)
	if !ok {
		whole, strays := in.multi.add(line)
		c.strayLines(strays)
		if whole == nil {
			return
		}
		if messages, ok = scanLine(in.messages[:0], whole); ok {
			in.multi.giveUp()
		}
	}
	c.strayLines(in.multi.giveUp())
	if !ok {
		return
	}
	in.messages = messages
	if c.spoke.Load() == 0 {
		c.spoke.Store(int64(time.Since(c.Started)))
	}
	for i := range messages {
		c.hear.Message(c, &messages[i])
	}
}

// stray: the line is evidence, and it goes where logs belong.
func (c *Conn) stray(line []byte) {
	c.strays.add(line)
	io.WriteString(c.logs, fault.Quote(string(line[:min(len(line), 1000)]))+"\n")
	c.hear.Stray(c, line)
}

func (c *Conn) strayLines(lines [][]byte) {
	for _, line := range lines {
		c.stray(line)
	}
}

// scanLine appends the messages on a line: one, or several if nothing else
// stands between them, or the elements of a batch.
func scanLine(messages []wire.Message, line []byte) (_ []wire.Message, ok bool) {
	parts := [][]byte{line}
	if line[0] == '[' {
		var err error
		if parts, err = wire.SplitBatch(line, maxBatch); err != nil {
			return messages, false
		}
	}
	for _, part := range parts {
		for len(part) > 0 {
			m, rest, err := wire.Scan(part)
			if err != nil {
				return messages, false
			}
			messages = append(messages, m)
			part = rest
		}
	}
	return messages, true
}

const maxBatch = 100

// stamped notes the time of every byte: any byte is life.
type stamped struct{ c *Conn }

func (s stamped) Read(b []byte) (int, error) {
	n, err := s.c.proc.stdout.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && s.c.rest < pipeMost {
		// Whoever hears us may have been held up past the deadline, by a
		// client that did not read: what a dead server wrote still counts.
		if n = tryRead(s.c.proc.stdout, b); n > 0 {
			s.c.rest += n
			err = nil
		}
	}
	if n > 0 {
		s.c.heard.Store(int64(time.Since(s.c.Started)))
		s.c.inMid.Store(b[n-1] != '\n')
	}
	return n, err
}

// Queue puts a line, in parts and with its line end, on its way without
// sending it yet; end identifies it for Delivery.
func (c *Conn) Queue(parts ...[]byte) (end int64, err error) { return c.out.queue(parts...) }

// Requeue is Queue for what has waited already: it is never ErrFull.
func (c *Conn) Requeue(parts ...[]byte) (end int64, err error) { return c.out.requeue(parts...) }

// stallMost is how long a server may not read before its clients are told that
// it is busy instead of being held up.
const stallMost = time.Second

// AwaitRoom holds up the caller while much is queued already and the server
// reads it.
func (c *Conn) AwaitRoom() { c.out.await(stallMost) }

// Flush sends what is queued. It never waits for the server.
func (c *Conn) Flush() { c.out.flush() }

// Blocked reports whether the server does not read what was sent.
func (c *Conn) Blocked() bool { return c.out.blocked() }

// LastHeard is when the last byte came from the server, its start if none did.
func (c *Conn) LastHeard() time.Time { return c.Started.Add(time.Duration(c.heard.Load())) }

// MidLine reports whether the server is in the middle of a line.
func (c *Conn) MidLine() bool { return c.inMid.Load() }

// Overdue reports whether the server had its time to give its first answer:
// base since it was asked, longer while its stderr shows that it is busy (a
// download, a build), but never more than StartTimeoutMax.
func (c *Conn) Overdue(asked, now time.Time, base time.Duration) bool {
	active := c.stderr.lastWrite()
	if active.Before(asked) {
		active = asked
	}
	return now.Sub(active) > base || now.Sub(asked) > max(base, StartTimeoutMax)
}

// Starting reports whether the server has neither said a word nor read the
// first that was said to it: it cannot be blamed for not answering yet.
func (c *Conn) Starting() bool { return c.spoke.Load() == 0 && untouched(c.proc.stdin) }

// PID is the process we started.
func (c *Conn) PID() int { return c.proc.pid() }

// Vitals is what the system knows of the server's processes.
type Vitals struct {
	Known   bool
	Stopped bool          // SIGSTOP, a debugger
	CPU     time.Duration // used so far by all of them
}

// Vitals looks at the processes now.
func (c *Conn) Vitals() Vitals { return c.proc.vitals() }

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

// Hurry cuts the first step of the stop ladder short.
func (c *Conn) Hurry() { c.hurrying.Do(func() { close(c.hurry) }) }

// Done closes when the process is reaped, its group is gone and its last byte
// was heard.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Evidence is what we saw. Valid after Done.
func (c *Conn) Evidence() Evidence { return c.evidence }

// Glimpse is what a server that still runs has said beside its messages.
func (c *Conn) Glimpse() *fault.Evidence {
	c.strays.mu.Lock()
	defer c.strays.mu.Unlock()
	return &fault.Evidence{Ran: time.Since(c.Started), Stderr: c.stderr.lines(12), Stdout: append([]string(nil), c.strays.lines...)}
}

// Delivery judges, after Done, what became of the message whose closing brace
// ends at end: Unsent if the server provably never read that brace. Whoever
// reads line by line or value by value cannot have acted on it before.
func (c *Conn) Delivery(end int64) fault.Delivery {
	if Seeded("offset-by-one") {
		end += 2 // the message the server read last counts as unread
	}
	if end > c.written || c.proven && end > c.written-c.never {
		return fault.Unsent
	}
	return fault.Unknown
}
