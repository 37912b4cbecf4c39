package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Pipes is the link to a process that gauze started.
type Pipes struct {
	rec    *life.Record
	guard  *Guard
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

// Launch starts the server. Serve must follow.
func Launch(spec launch.Spec, record *life.Record, guard *Guard) (*Pipes, error) {
	guard.arm()
	proc, err := start(spec)
	if err != nil {
		return nil, err
	}
	// First of all: from here on the server must not outlive gauze.
	proc.guardedBy(guard)
	record.Started = proc.started
	return &Pipes{rec: record, proc: proc, guard: guard, out: newOutbox(proc.stdin)}, nil
}

// Put queues one line, given in parts and with its line end. end identifies it for Delivery.
func (p *Pipes) Put(parts [][]byte) (end int64, err error) { return p.out.put(parts) }

// Flush sends what is queued. It never waits for the server.
func (p *Pipes) Flush() { p.out.flush() }

// Await blocks while too much is queued for the server.
func (p *Pipes) Await() { p.out.await() }

// Blocked reports whether the server does not read what was sent.
func (p *Pipes) Blocked() bool { return p.out.blocked() }

// Unread reports whether the server has not read something that was written to its stdin.
func (p *Pipes) Unread() bool { return p.proc.stdin.untouched() }

// PID returns the id of the process.
func (p *Pipes) PID() int { return p.proc.pid() }

// Exited reports whether the process has exited.
func (p *Pipes) Exited() bool {
	select {
	case <-p.proc.exited:
		return true
	default:
		return false
	}
}

// Vitals returns the current state of the processes.
func (p *Pipes) Vitals() Vitals { return p.proc.vitals() }

// Survey describes the processes.
func (p *Pipes) Survey() life.Survey { return p.proc.survey(p.proc.cmd.Env) }

// Remember notes which processes the server has, now that all of them are running.
func (p *Pipes) Remember() { p.family.dying(&p.proc.group) }

// UnfinishedLine returns the beginning of the line that the server did not finish. It is valid once
// the connection is done.
func (p *Pipes) UnfinishedLine() []byte { return p.half }

// Settle waits for the exit of a server that is being killed.
func (p *Pipes) Settle() {
	if p.family.dying(&p.proc.group) {
		p.proc.endedWithin(launcherGrace, p.rec.Done())
	}
}

// launcherGrace is how long a launcher has to notice that its server is gone. If it keeps running,
// the process that exited was a helper.
const launcherGrace = 50 * time.Millisecond

// Delivery returns, once the connection is done, how far the message got whose closing brace is at
// end.
func (p *Pipes) Delivery(end int64) fault.Delivery {
	if life.Seeded("offset-by-one") {
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

// Serve owns the process from its start to its last byte.
func (p *Pipes) Serve(maxMessage int) {
	var streams sync.WaitGroup
	streams.Go(func() { p.listen(maxMessage) })
	streams.Go(p.listenToStderr)

	select {
	case <-p.proc.exited:
		if p.out.hasEnded() && p.proc.cmd.ProcessState.Success() { // otherwise it failed
			p.rec.End(life.ClientLeft, false)
		}
	case <-p.out.broken:
		// The server is exiting, or it closed its stdin and keeps running. Then it can receive no
		// more requests.
		if !p.proc.endedWithin(drainGrace, p.rec.Broken()) {
			p.rec.End("it closed its stdin", true)
			p.proc.stop(p.rec.Hurried())
		}
	case <-p.rec.Broken():
		select {
		case <-p.rec.Hurried():
			// Its stdin stays open: closing it would destroy the proof of what was never read.
		default:
			p.out.finish(time.Now().Add(closeGrace))
			p.proc.stdin.Close()
		}
		p.proc.stop(p.rec.Hurried())
	}
	ended := time.Now()
	p.proc.kill() // its children may have outlived it
	p.guard.release()
	// What the server wrote before it exited counts: read to the end.
	limit := time.Now().Add(drainGrace)
	endReads(p.proc.stdout, limit)
	endReads(p.proc.stderr, limit)
	if life.Seeded("no-drain") {
		p.proc.stdout.Close()
	}
	if life.Seeded("no-fence") {
		defer streams.Wait() // declared dead before its last output is read
	} else {
		streams.Wait()
	}
	p.written, p.unreadBytes, p.proven = p.out.settle()
	p.proc.stdin.Close()
	if !life.Seeded("no-fence") {
		p.proc.stdout.Close()
	}
	p.proc.stderr.Close()

	e := p.rec.Conclude(ended)
	state := p.proc.cmd.ProcessState
	e.Exit, e.Code, e.Signal = state.String(), state.ExitCode(), signalOf(state)
	e.Allowed, e.Left = p.proc.allowed, p.proc.left
	p.rec.Finish(e)
}

// endReads ends every read of f at deadline.
func endReads(f *os.File, deadline time.Time) {
	if f.SetReadDeadline(deadline) != nil {
		f.Close() // which ends them immediately
	}
}

// listenToStderr keeps and passes on what the server logs. (io.Copy would use 32 KB for each of a
// hundred silent servers.)
func (p *Pipes) listenToStderr() {
	buf := make([]byte, 4<<10)
	for {
		n, err := p.proc.stderr.Read(buf)
		p.rec.Stderr.Write(buf[:n])
		p.rec.Output.Stderr(buf[:n])
		p.rec.Logs.Write(buf[:n])
		if err != nil {
			p.rec.Output.End()
			return
		}
	}
}

// ClosedStdout is why a process is ended that closed its stdout and did not exit soon.
const ClosedStdout = "it closed its stdout"

// listen reads the server's stdout to its end. That does not mean that it exited: a server that
// closed its stdout but keeps running can never answer again.
func (p *Pipes) listen(maxMessage int) {
	p.read(wire.NewReader(stamped{p}, maxMessage))
	switch {
	case p.proc.endedWithin(drainGrace, nil):
	case p.out.hasEnded(): // it has answered all that it will
		p.rec.End(life.ClientLeft, false)
	default:
		p.rec.End(ClosedStdout, true)
	}
}

// EndInput closes the server's stdin once everything was read: until then, what a server that dies has
// not read can be proven.
func (p *Pipes) EndInput() {
	p.out.drained()
	for pause := time.Millisecond; p.proc.stdin.untouched(); pause = min(2*pause, maxReadCheck) {
		select {
		case <-p.proc.exited:
			return
		case <-p.rec.Broken():
			return
		case <-time.After(pause):
		}
	}
	p.out.end()
}

// maxReadCheck is the longest time between two checks whether the server has read its stdin to the end.
const maxReadCheck = 50 * time.Millisecond

func (p *Pipes) read(lines *wire.Reader) {
	var in incoming
	for {
		line, err := lines.Next()
		switch {
		case err == nil && len(bytes.TrimSpace(line)) > 0:
			p.accept(&in, line)
		case err == nil: // an empty line is ignored
		default:
			long, ok := errors.AsType[*wire.TooLong](err)
			if !ok {
				p.acceptLast(&in, lines.Unfinished())
				p.rec.Reader.Rest()
				return
			}
			p.rec.Reader.TooLong(long)
			if long.Endless {
				p.rec.End("it is writing an endless line to stdout", true)
			}
		}
		if !lines.Buffered() {
			p.rec.Reader.Rest()
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
func (p *Pipes) accept(in *incoming, line []byte) {
	messages, ok := wire.ScanLine(in.messages[:0], line)
	if !ok {
		whole, strays := in.multi.add(line)
		p.strayLines(strays)
		if whole == nil {
			return
		}
		if messages, ok = wire.ScanLine(in.messages[:0], whole); ok {
			in.multi.giveUp()
			p.rec.Joined.Store(true)
		}
	}
	p.strayLines(in.multi.giveUp())
	if !ok {
		return
	}
	in.messages = messages
	p.rec.NoteMessage()
	for i := range messages {
		p.rec.Reader.Message(&messages[i])
	}
	clear(messages) // they refer to the line, which may be a long one
}

// acceptLast passes on what follows the last newline if nothing but the newline is missing: its last
// brace is there. Otherwise it is noted by its length.
func (p *Pipes) acceptLast(in *incoming, rest []byte) {
	line := bytes.TrimSpace(wire.WithoutMark(rest))
	if len(line) > 0 {
		_, whole := wire.ScanLine(nil, line)
		if whole || in.multi.open() && string(line) == "}" {
			p.accept(in, line)
			line = nil
		}
	}
	p.strayLines(in.multi.giveUp())
	if len(line) > 0 {
		p.half = bytes.Clone(rest[:min(len(rest), life.MaxStdoutBytes)])
		p.rec.Stray(fmt.Appendf(nil, "(%d bytes of an incomplete line)", len(rest)))
	}
}

func (p *Pipes) strayLines(lines [][]byte) {
	for _, line := range lines {
		p.rec.Stray(line)
	}
}

// stamped records the time of every byte.
type stamped struct{ p *Pipes }

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
		s.p.rec.NoteByte()
		s.p.rec.MidLine.Store(b[n-1] != '\n')
	}
	return n, err
}
