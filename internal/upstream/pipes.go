package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// pipes is the link to a process that gauze started.
type pipes struct {
	*Conn
	proc   *process
	out    *outbox
	family family
	rest   int    // bytes read after the deadline; used by the reading goroutine
	half   []byte // the beginning of an unfinished line; used by the reading goroutine

	// Valid once the connection is done.
	written     int64
	unreadBytes int64
	proven      bool
}

// launchConn starts the server and begins to read its output.
func launchConn(spec launch.Spec, generation int, reader Reader, logs io.Writer, guard *guard, maxMessage int) (*Conn, error) {
	guard.arm()
	proc, err := start(spec)
	if err != nil {
		return nil, err
	}
	// First of all: from here on the server must not outlive gauze.
	proc.guardedBy(guard)
	c := newConn(generation, proc.started, reader, logs)
	p := &pipes{Conn: c, proc: proc, out: newOutbox(proc.stdin)}
	c.link, c.pipes = p, p
	go p.serve(guard, maxMessage)
	return c, nil
}

func (p *pipes) put(_ Sending, parts [][]byte) (end int64, err error) { return p.out.put(parts) }
func (p *pipes) flush()                                               { p.out.flush() }
func (p *pipes) await()                                               { p.out.await() }
func (p *pipes) blocked() bool                                        { return p.out.blocked() }
func (p *pipes) drop(int64)                                           {}
func (p *pipes) lingers(int64) bool                                   { return false }
func (p *pipes) quietSince(int64) time.Time                           { return time.Time{} }
func (p *pipes) dismiss()                                             {}
func (p *pipes) gone() <-chan struct{}                                { return p.done }
func (p *pipes) starting() bool                                       { return p.proc.stdin.untouched() }
func (p *pipes) vitals() Vitals                                       { return p.proc.vitals() }
func (p *pipes) pid() int                                             { return p.proc.pid() }

// settle waits for the exit of a server that is being killed.
func (p *pipes) settle() {
	if p.family.dying(&p.proc.group) {
		p.proc.endedWithin(launcherGrace, p.done)
	}
}

// launcherGrace is how long a launcher has to notice that its server is gone. If it keeps running,
// the process that exited was a helper.
const launcherGrace = 50 * time.Millisecond

func (p *pipes) delivery(end int64) fault.Delivery {
	if Seeded("offset-by-one") {
		end += 2 // the message the server read last counts as unread
	}
	if end > p.written || p.proven && end > p.written-p.unreadBytes {
		return fault.Unsent
	}
	return fault.Unknown
}

// drainGrace is how long a pipe may stay open after the server exited, held by a grandchild that
// left the process group.
const drainGrace = 250 * time.Millisecond

// maxPipeBytes is the capacity of a pipe. A grandchild that left the group and keeps writing is not
// read beyond it.
const maxPipeBytes = 1 << 20

// serve owns the process from its start to its last byte.
func (p *pipes) serve(guard *guard, maxMessage int) {
	var streams sync.WaitGroup
	streams.Go(func() { p.listen(maxMessage) })
	streams.Go(p.listenToStderr)

	select {
	case <-p.proc.exited:
		if p.out.hasEnded() && p.proc.cmd.ProcessState.Success() { // otherwise it failed
			p.End(ClientLeft, false)
		}
	case <-p.out.broken:
		// The server is exiting, or it closed its stdin and keeps running. Then it can receive no
		// more requests.
		if !p.proc.endedWithin(drainGrace, p.broken) {
			p.End("it closed its stdin", true)
			p.proc.stop(p.hurry)
		}
	case <-p.broken:
		select {
		case <-p.hurry:
			// Its stdin stays open: closing it would destroy the proof of what was never read.
		default:
			p.out.finish(time.Now().Add(closeGrace))
			p.proc.stdin.Close()
		}
		p.proc.stop(p.hurry)
	}
	p.ended = time.Now()
	p.proc.kill() // its children may have outlived it
	guard.release()
	// What the server wrote before it exited counts: read to the end.
	limit := time.Now().Add(drainGrace)
	endReads(p.proc.stdout, limit)
	endReads(p.proc.stderr, limit)
	if Seeded("no-drain") {
		p.proc.stdout.Close()
	}
	if Seeded("no-fence") {
		defer streams.Wait() // declared dead before its last output is read
	} else {
		streams.Wait()
	}
	p.written, p.unreadBytes, p.proven = p.out.settle()
	p.proc.stdin.Close()
	if !Seeded("no-fence") {
		p.proc.stdout.Close()
	}
	p.proc.stderr.Close()

	p.ending.Do(func() {}) // it is over: no reason may be set any more
	state := p.proc.cmd.ProcessState
	p.evidence = Evidence{
		Stage: Started, Exit: state.String(), Code: state.ExitCode(), Signal: signalOf(state), Ran: p.ended.Sub(p.Started),
		Stderr: p.stderr.lines(12), Stray: p.strays.lines, ByUs: p.reason, Used: p.used.Load(),
	}
	if first := time.Duration(p.firstMessage.Load()); first > 0 {
		p.evidence.Stage, p.evidence.Served = Spoke, p.evidence.Ran-first
	}
	close(p.done)
}

// endReads ends every read of f at deadline.
func endReads(f *os.File, deadline time.Time) {
	if f.SetReadDeadline(deadline) != nil {
		f.Close() // which ends them immediately
	}
}

// listenToStderr keeps and passes on what the server logs. (io.Copy would use 32 KB for each of a
// hundred silent servers.)
func (p *pipes) listenToStderr() {
	buf := make([]byte, 4<<10)
	for {
		n, err := p.proc.stderr.Read(buf)
		p.stderr.Write(buf[:n])
		p.logs.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

// closedStdout is why a process is ended that closed its stdout and did not exit soon.
const closedStdout = "it closed its stdout"

// listen reads the server's stdout to its end. That does not mean that it exited: a server that
// closed its stdout but keeps running can never answer again.
func (p *pipes) listen(maxMessage int) {
	p.read(wire.NewReader(stamped{p}, maxMessage))
	switch {
	case p.proc.endedWithin(drainGrace, nil):
	case p.out.hasEnded(): // it has answered all that it will
		p.End(ClientLeft, false)
	default:
		p.End(closedStdout, true)
	}
}

// endInput closes the server's stdin once everything was read: until then, what a server that dies has
// not read can be proven.
func (p *pipes) endInput() {
	p.out.drained()
	for pause := time.Millisecond; p.proc.stdin.untouched(); pause = min(2*pause, maxReadCheck) {
		select {
		case <-p.proc.exited:
			return
		case <-p.broken:
			return
		case <-time.After(pause):
		}
	}
	p.out.end()
}

// maxReadCheck is the longest time between two checks whether the server has read its stdin to the end.
const maxReadCheck = 50 * time.Millisecond

func (p *pipes) read(lines *wire.Reader) {
	var in incoming
	for {
		line, err := lines.Next()
		var long *wire.TooLong
		switch {
		case err == nil && len(bytes.TrimSpace(line)) > 0:
			p.accept(&in, line)
		case err == nil: // an empty line is ignored
		case errors.As(err, &long):
			p.reader.TooLong(p.Conn, long)
			if long.Endless {
				p.End("it is writing an endless line to stdout", true)
			}
		default:
			p.acceptLast(&in, lines.Unfinished())
			p.reader.Rest(p.Conn)
			return
		}
		if !lines.Buffered() {
			p.reader.Rest(p.Conn)
		}
	}
}

// incoming is what the reading goroutine keeps between lines.
type incoming struct {
	messages []wire.Message // reused
	multi    joiner
}

// accept passes on the messages on a line. A line with anything else on it is stray as a whole:
// nothing is recovered by guessing.
func (p *pipes) accept(in *incoming, line []byte) {
	messages, ok := scanLine(in.messages[:0], line)
	if !ok {
		whole, strays := in.multi.add(line)
		p.strayLines(strays)
		if whole == nil {
			return
		}
		if messages, ok = scanLine(in.messages[:0], whole); ok {
			in.multi.giveUp()
		}
	}
	p.strayLines(in.multi.giveUp())
	if !ok {
		return
	}
	in.messages = messages
	p.noteMessage()
	for i := range messages {
		p.reader.Message(p.Conn, &messages[i])
	}
}

// acceptLast passes on what follows the last newline if nothing but the newline is missing: its last
// brace is there. Otherwise it is noted by its length.
func (p *pipes) acceptLast(in *incoming, rest []byte) {
	line := bytes.TrimSpace(wire.WithoutMark(rest))
	if len(line) > 0 {
		_, whole := scanLine(nil, line)
		if whole || in.multi.open() && string(line) == "}" {
			p.accept(in, line)
			line = nil
		}
	}
	p.strayLines(in.multi.giveUp())
	if len(line) > 0 {
		p.half = bytes.Clone(rest[:min(len(rest), MaxStdoutBytes)])
		p.stray(fmt.Appendf(nil, "(%d bytes of an unfinished line)", len(rest)))
	}
}

func (p *pipes) strayLines(lines [][]byte) {
	for _, line := range lines {
		p.stray(line)
	}
}

// scanLine appends the messages on a line: one, several with nothing else between them, or the
// elements of a batch.
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

// stamped records the time of every byte.
type stamped struct{ p *pipes }

func (s stamped) Read(b []byte) (int, error) {
	n, err := s.p.proc.stdout.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && s.p.rest < maxPipeBytes {
		// The reader may have been blocked past the deadline by a client that did not read. What a
		// dead server wrote still counts.
		if n = tryRead(s.p.proc.stdout, b); n > 0 {
			s.p.rest += n
			err = nil
		}
	}
	if n > 0 {
		s.p.noteByte()
		s.p.midLine.Store(b[n-1] != '\n')
	}
	return n, err
}
