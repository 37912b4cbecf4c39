package upstream

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// outbox holds the bytes on their way to the server's stdin and knows, to the
// byte, how far they got. No other file decides what was sent.
type outbox struct {
	mu       sync.Mutex
	f        *os.File
	raw      syscall.RawConn
	pending  []byte // not yet taken by the kernel; the end of room
	room     []byte
	spare    []byte // the room that is not written from
	messages int    // in pending, for the limit
	queued   int64  // bytes ever put in
	written  int64  // bytes ever taken by the kernel
	flushing bool   // one goroutine at a time writes
	stalled  bool   // the server has not read for too long: nobody is held up for it
	moved    sync.Cond
	err      error
	broken   chan struct{} // closed at the first error
}

// Limits of what may wait for a server that does not read.
const (
	outboxMessages = 1024
	outboxBytes    = 8 << 20
)

// ErrFull: the server does not read its input and enough is waiting already.
var ErrFull = errors.New("the server does not read its input")

func newOutbox(f *os.File) (*outbox, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	o := &outbox{f: f, raw: raw, broken: make(chan struct{})}
	o.moved.L = &o.mu
	return o, nil
}

// put puts one line, given in parts and with its line end, behind the others.
// end is the position behind the message's closing brace in the stream of all
// bytes. limited: it may be turned away.
func (o *outbox) put(limited bool, parts [][]byte) (end int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	if len(o.pending) == 0 {
		o.pending = o.room[:0]
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if limited && len(o.pending) > 0 && (o.messages >= outboxMessages || len(o.pending)+size > outboxBytes) {
		return 0, ErrFull
	}
	for _, part := range parts {
		o.pending = append(o.pending, part...)
	}
	if cap(o.pending) > cap(o.room) {
		o.room = o.pending
	}
	o.messages++
	o.queued += int64(size)
	return o.queued - 1, nil
}

// flush writes what the pipe takes at once and leaves the rest to a goroutine
// of its own, so the caller never waits for the server.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write()
}

func (o *outbox) write() {
	if o.flushing || len(o.pending) == 0 || o.err != nil {
		return
	}
	n, err := tryWrite(o.f, o.raw, o.pending)
	o.took(n, err)
	if len(o.pending) > 0 && o.err == nil {
		o.flushing = true
		go o.drain()
	}
}

func (o *outbox) took(n int, err error) {
	o.pending = o.pending[n:]
	if len(o.pending) == 0 {
		o.messages = 0
		o.room = small(o.room)
	}
	o.count(n, err)
}

// count notes what the kernel took.
func (o *outbox) count(n int, err error) {
	o.written += int64(n)
	if n > 0 {
		o.stalled = false
	}
	if err != nil && o.err == nil {
		o.err = err // what was queued behind was not written either
		close(o.broken)
	}
	o.moved.Broadcast()
}

// await holds up a caller while half of what may wait does wait, as long as
// the server reads: a burst is no reason to turn anyone away. Once the server
// has not read for stall, nobody is held up until it reads again.
func (o *outbox) await(stall time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	since, seen := time.Now(), o.written
	for (o.messages >= outboxMessages/2 || len(o.pending) >= outboxBytes/2) && o.err == nil && !o.stalled {
		if o.write(); !o.flushing {
			continue
		}
		alarm := time.AfterFunc(stall, o.moved.Broadcast)
		o.moved.Wait()
		alarm.Stop()
		if o.written != seen {
			since, seen = time.Now(), o.written
		} else if time.Since(since) >= stall {
			o.stalled = true
		}
	}
}

// small gives back what one huge message took.
func small(room []byte) []byte {
	if cap(room) > 1<<20 {
		return nil
	}
	return room[:0]
}

// drain waits for the server to read. It ends when nothing is pending or the
// pipe is broken.
func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) > 0 && o.err == nil {
		batch, room := o.pending, o.room
		o.pending, o.room, o.messages = nil, o.spare, 0
		for len(batch) > 0 && o.err == nil {
			piece := batch[:min(len(batch), pieceSize)]
			o.mu.Unlock()
			n, err := o.f.Write(piece)
			o.mu.Lock()
			batch = batch[n:]
			o.count(n, err)
		}
		o.spare = small(room)
	}
	o.flushing = false
	o.moved.Broadcast()
}

// pieceSize is how much is written before we look whether the server reads:
// what a pipe holds.
const pieceSize = 64 << 10

// blocked reports whether bytes wait for the server to read.
func (o *outbox) blocked() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flushing
}

// settle ends all writing, at the latest at deadline, and tells how many bytes
// the server can have seen: the kernel took written of them, and never of
// these were provably not read.
func (o *outbox) settle(deadline time.Time) (written, never int64, proven bool) {
	o.f.SetWriteDeadline(deadline)
	o.mu.Lock()
	for o.flushing {
		o.moved.Wait()
	}
	if o.err == nil {
		o.err = os.ErrClosed
	}
	o.moved.Broadcast()
	written = o.written
	o.mu.Unlock()
	never, proven = unread(o.f) // may take a moment, and holds up nobody
	return written, never, proven
}
