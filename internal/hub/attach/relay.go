package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

// relay carries a client's stdin and stdout over one connection after another.
type relay struct {
	out    io.Writer
	memory *memory

	mu     sync.Mutex // held while something is sent
	change sync.Cond  // of what is below
	conn   *Conn      // takes what the client sends; nil: it has to wait
	left   bool       // the client has closed its stdin
	over   bool       // Relay has returned
}

// Relay carries a client's stdin and stdout over a connection until gauze up ends the session, the client
// disconnects, or ctx ends. If gauze up exits before, the session continues with the gauze up that again attaches to:
// it is told what the client has told the last one, and gets the requests that were not sent, or that have no effect.
// It is unknown what became of the others, and each gets an error that says so. Relay does not wait for in: a
// client may never close it.
func Relay(ctx context.Context, conn *Conn, again func(context.Context) (*Conn, error), in io.Reader, out io.Writer) error {
	r := &relay{out: out, memory: newMemory()}
	r.change.L = &r.mu
	defer r.end()
	go r.fromClient(in)
	l := &lines{from: conn}
	r.use(conn)
	for {
		began := time.Now()
		err := r.toClient(ctx, conn, l)
		conn.Close()
		if !r.continues(ctx, conn, err) {
			return r.abandon(err)
		}
		if err := r.tell(r.memory.lost()); err != nil {
			return err
		}
		if !pause.For(ctx, time.Until(began.Add(minLife))) {
			return nil
		}
		if conn, l, err = r.resume(ctx, again); err != nil {
			r.abandon(ErrLost)
			return fmt.Errorf("gauze up ended the session, which could not be continued: %w", err)
		}
	}
}

// minLife is the time between two connections, so that a gauze up that always exits is not started all the time.
const minLife = 100 * time.Millisecond

// use sends what the client says over a connection from now on.
func (r *relay) use(conn *Conn) {
	conn.leaving = func() { go r.leave(conn) } // which may have to wait until something is sent
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = conn
	r.change.Broadcast()
	if conn.ending {
		conn.leaving()
	}
}

// leave ends what is sent over a connection: its gauze up is about to exit, and answers what it has.
func (r *relay) leave(conn *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == conn {
		r.conn = nil
	}
	conn.CloseWrite()
}

// fromClient sends what the client says, until it closes its stdin.
func (r *relay) fromClient(in io.Reader) {
	l := &lines{from: in}
	for {
		text, err := l.next()
		r.send(text)
		if err != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	if r.await() {
		r.conn.CloseWrite()
	}
}

// send sends whole lines, if necessary over several connections, but none of them twice.
func (r *relay) send(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(text) > 0 && r.await() {
		said := scan(text)
		r.memory.sending(said)
		n, err := r.conn.Write(text)
		r.memory.sent(said, n)
		if err == nil {
			return
		}
		r.conn = nil
		text = text[bytes.LastIndexByte(text[:n], '\n')+1:]
	}
}

// await waits for a connection, and reports whether there will be one. The caller holds the lock.
func (r *relay) await() bool {
	for r.conn == nil && !r.over {
		r.change.Wait()
	}
	return !r.over
}

// toClient passes on what gauze up says, until its stream ends.
func (r *relay) toClient(ctx context.Context, conn *Conn, l *lines) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for {
		text, err := l.next()
		if err == nil || !errors.Is(err, ErrLost) { // what was cut off is not passed on
			if err := r.tell(r.memory.received(text)); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// tell writes to the client, if there is something to say.
func (r *relay) tell(text []byte) (err error) {
	if len(text) > 0 {
		_, err = r.out.Write(text)
	}
	return err
}

// continues reports whether the session continues with another gauze up.
func (r *relay) continues(ctx context.Context, conn *Conn, err error) bool {
	if ctx.Err() != nil || !errors.Is(err, ErrLost) && !conn.ending {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = nil
	return !r.left
}

// abandon ends a session that was lost: every request that is open gets an error.
func (r *relay) abandon(err error) error {
	if !errors.Is(err, ErrLost) {
		if err == io.EOF {
			return nil
		}
		return err
	}
	text, open := r.memory.abandon()
	if err := r.tell(text); err != nil {
		return err
	}
	return fmt.Errorf("gauze up exited during the session; the outcome of %s is unknown", plaintext.Count(open, "open request"))
}

// end releases what waits for another connection.
func (r *relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.change.Broadcast()
}
