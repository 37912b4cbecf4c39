package process

import (
	"os"
	"slices"
	"sync"
	"time"
)

// outbox holds the bytes on their way to the server's stdin and knows exactly how far they got. No
// other file decides what was sent.
type outbox struct {
	mu       sync.Mutex
	f        *stdinPipe
	pending  []byte // not yet written; the end of room
	room     []byte
	spare    []byte // the buffer that is not being written from
	queued   int64  // bytes ever queued
	written  int64  // bytes that were, or may have been, written
	flushing bool   // a goroutine is writing
	moved    sync.Cond
	err      error
	ended    bool          // the pipe was closed after the last byte
	broken   chan struct{} // closed on the first error
}

// maxUnread is how many bytes may wait for a server that does not read before its client is
// blocked. It limits memory: a pipe would hold 64 KiB.
const maxUnread = 32 << 20

func newOutbox(f *stdinPipe) *outbox {
	o := &outbox{f: f, broken: make(chan struct{})}
	o.moved.L = &o.mu
	return o
}

// put queues one line, given in parts and with its line end. end is the position after the closing
// brace of the message in the stream of all bytes. Nothing is rejected; await keeps the queue
// short.
func (o *outbox) put(parts [][]byte) (end int64, err error) {
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
	o.pending = slices.Grow(o.pending, size)
	for _, part := range parts {
		o.pending = append(o.pending, part...)
	}
	if cap(o.pending) > cap(o.room) {
		o.room = o.pending
	}
	o.queued += int64(size)
	return o.queued - 1, nil
}

// flush writes what the pipe accepts immediately and leaves the rest to a goroutine, so the caller
// never waits for the server.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write()
}

func (o *outbox) write() {
	if o.flushing || len(o.pending) == 0 || o.err != nil {
		return
	}
	n, err := o.f.tryWrite(o.pending)
	o.wrote(n, err)
	if len(o.pending) > 0 && o.err == nil {
		o.flushing = true
		go o.drain()
	}
}

func (o *outbox) wrote(n int, err error) {
	o.pending = o.pending[n:]
	if len(o.pending) == 0 {
		o.room = shrunk(o.room)
	}
	o.count(n, err)
}

// count records what was written.
func (o *outbox) count(n int, err error) {
	o.written += int64(n)
	if err != nil && o.err == nil {
		o.err = err // what is queued was not written either
		close(o.broken)
	}
	o.moved.Broadcast()
}

// await blocks while more than maxUnread bytes wait for the server, as a full pipe would. It
// returns when the server has read enough or the pipe is broken.
func (o *outbox) await() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.queued-o.written > maxUnread && o.err == nil {
		if o.write(); o.flushing {
			o.moved.Wait()
		}
	}
}

// shrunk returns room, or nil if one large message made it too big to keep.
func shrunk(room []byte) []byte {
	if cap(room) > 1<<20 {
		return nil
	}
	return room[:0]
}

// drain writes what is pending as the server reads it. It ends when nothing is pending or the pipe
// is broken.
func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) > 0 && o.err == nil {
		batch, room := o.pending, o.room
		o.pending, o.room = nil, o.spare
		for len(batch) > 0 && o.err == nil {
			piece := batch[:min(len(batch), pieceSize)]
			o.mu.Unlock()
			n, err := o.f.Write(piece)
			o.mu.Lock()
			batch = batch[n:]
			o.count(n, err)
		}
		o.spare = shrunk(room)
	}
	o.flushing = false
	o.moved.Broadcast()
}

// pieceSize is how much is written at a time: the capacity of a pipe.
const pieceSize = 64 << 10

// closePipeGrace is how long killed processes have to close the pipe. A large one on a busy machine
// takes a while.
const closePipeGrace = 500 * time.Millisecond

// blocked reports whether bytes wait for the server to read.
func (o *outbox) blocked() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flushing
}

// finish ends all writing, at the latest at deadline.
func (o *outbox) finish(deadline time.Time) {
	o.f.stop(deadline)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.flushing {
		o.moved.Wait()
	}
	if o.err == nil {
		o.err = os.ErrClosed
	}
	o.moved.Broadcast()
}

// drained waits until everything was written, or nothing can be any more.
func (o *outbox) drained() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.write(); o.flushing; {
		o.moved.Wait()
	}
}

// end closes the pipe, unless it is broken.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err, o.ended = os.ErrClosed, true
		o.f.Close()
	}
	o.moved.Broadcast()
}

// hasEnded reports whether end closed the pipe.
func (o *outbox) hasEnded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// settle ends all writing to a server that has exited. It returns how many bytes were written and how
// many of those were provably never read.
func (o *outbox) settle() (written, unreadBytes int64, proven bool) {
	o.finish(time.Unix(1, 0))
	unreadBytes, proven = o.f.unread() // may take a moment; no lock is held
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written, unreadBytes, proven
}
