package kernel

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// outlet collects and writes the messages to the client. What is said about a request is decided
// and put here under its lock, so nothing about a request can follow its response.
type outlet struct {
	sync.Mutex
	w    io.Writer
	tell func(Told) // instead of w: message by message; must not block
	buf  []byte
	held []*place // responses that follow, in the order in which the server sent them
	err  error
	// failed is closed with err: the client is gone.
	failed chan struct{}
	writes atomic.Uint64 // begun and ended: odd while one is under way
	seen   atomic.Uint64 // value of writes at the last check
	since  atomic.Int64  // when it was first seen, unix nanoseconds
}

// Told is one message to a client that exchanges messages instead of lines.
type Told struct {
	Line     []byte // without its line end
	About    []byte // raw id of the client's request it belongs to, as its answer, progress or question; nil: none
	Answer   bool   // it is the answer to About, the only one
	Question bool   // it is a request from the server, which waits for the client's answer
	Status   int    // HTTP status with which the server rejected the request; 0: none
}

// place is where a held response belongs.
type place struct {
	at     int    // in buf
	filled bool   // with the response
	expire func() // fills it immediately
}

const (
	outletFlushAt = 64 << 10
	outletPiece   = 64 << 10 // the capacity of a pipe
	// maxHeldBytes is how much is collected behind a held response.
	maxHeldBytes = 1 << 20
)

// flush writes what was collected, up to the first held response. The caller holds the lock.
func (o *outlet) flush() {
	ready := len(o.buf)
	if len(o.held) > 0 {
		ready = o.held[0].at
	}
	if ready == 0 || o.tell != nil {
		return
	}
	o.write(o.buf[:ready])
	o.buf = append(small(o.buf), o.buf[ready:]...)
	for _, p := range o.held {
		p.at -= ready
	}
}

// write writes to the client, until that fails: in pieces, so that stuck sees a slow reader. The caller
// holds the lock.
func (o *outlet) write(b []byte) {
	for len(b) > 0 && o.err == nil {
		piece := b[:min(len(b), outletPiece)]
		b = b[len(piece):]
		o.writes.Add(1)
		_, o.err = o.w.Write(piece)
		o.writes.Add(1)
		if o.err != nil {
			close(o.failed)
		}
	}
}

// stream writes a long message, given in parts and with its line end, without a copy of it. What was held
// or collected goes first. The caller holds the lock.
func (o *outlet) stream(parts ...[]byte) {
	o.release()
	o.flush()
	for _, part := range parts {
		o.write(part)
	}
}

// hold keeps the place of a response that follows with fill: later messages are written after it.
// If they become too many, expire must fill it. A client that exchanges messages, whose requests are
// independent, gets the later ones first. The caller holds the lock.
func (o *outlet) hold(expire func()) *place {
	p := &place{at: len(o.buf), expire: expire}
	o.held = append(o.held, p)
	return p
}

// fill writes a held response, once those before it are filled; line has its line end. The caller
// holds the lock.
func (o *outlet) fill(p *place, line []byte, t Told) {
	i := slices.Index(o.held, p)
	p.filled, o.held = true, slices.Delete(o.held, i, i+1)
	if o.tell != nil {
		o.buf = append(o.buf, line...)
		o.end(t)
		return
	}
	o.buf = slices.Insert(o.buf, p.at, line...)
	for _, later := range o.held[i:] {
		later.at += len(line)
	}
	o.end(t)
	o.flush()
}

// release fills all places. The caller holds the lock.
func (o *outlet) release() {
	for len(o.held) > 0 {
		o.held[0].expire()
	}
}

// end is called after a message was put into buf; t says what it is, except for its Line. A burst
// is collected until it is large, or until there is nothing more to read.
func (o *outlet) end(t Told) {
	switch {
	case o.tell != nil:
		t.Line = bytes.TrimSuffix(o.buf, lineEnd)
		o.tell(t)
		o.buf = small(o.buf)
	case len(o.held) > 0 && len(o.buf)-o.held[0].at > maxHeldBytes:
		o.release()
	case len(o.buf) >= outletFlushAt:
		o.flush()
	}
}

// put adds a message. The caller holds the lock.
func (o *outlet) put(t Told) {
	o.buf = append(append(o.buf, t.Line...), '\n')
	o.end(t)
}

// send writes one message immediately.
func (o *outlet) send(t Told) {
	o.Lock()
	defer o.Unlock()
	o.put(t)
	o.flush()
}

// answer returns a message of ours that answers the request id.
func answer(id, line []byte) Told { return Told{Line: line, About: id, Answer: true} }

// small empties buf, and drops it if a huge message made it large.
func small(buf []byte) []byte {
	if cap(buf) > 1<<20 {
		return nil
	}
	return buf[:0]
}

// stuck reports whether the client has not read for a second: then silence is not the server's
// fault. The clock is read here and not at every write.
func (o *outlet) stuck(now time.Time) bool {
	writes := o.writes.Load()
	if o.seen.Swap(writes) != writes {
		o.since.Store(now.UnixNano())
	}
	return writes%2 == 1 && now.UnixNano()-o.since.Load() >= int64(time.Second)
}
