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

	mu      sync.Mutex // held while something is sent
	change  sync.Cond  // of what is below
	conn    *Conn      // takes what the client sends; nil: it has to wait
	leaving *Conn      // still answers the requests that it has, and takes what belongs to them; nil: there is none
	held    []byte     // lines for the next connection
	left    bool       // the client has closed its stdin
	over    bool       // Relay has returned
}

// Relay carries a client's stdin and stdout over a connection until gauze up ends the session, the client
// disconnects, or ctx ends because it is gone. If gauze up exits before, the session continues with the gauze up that
// again attaches to: it is told what the client has told the last one, and gets the requests that were not sent, or that
// have no effect. It is unknown what became of the others, and each gets an error that says so. Relay does not wait for
// in: a client may never close it.
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
		if ctx.Err() != nil {
			return nil // the client is gone, not gauze up
		}
		if !r.continues(conn, err) {
			return r.abandon(err)
		}
		if err := r.tell(r.memory.lost()); err != nil {
			return err
		}
		if !pause.For(ctx, time.Until(began.Add(minLife))) {
			return nil
		}
		conn, l, err = r.resume(ctx, again)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
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
	if len(r.held) > 0 {
		go r.passHeld() // what gauze up says is read meanwhile
	}
	if conn.ending {
		conn.leaving()
	}
}

// leave sends new requests over the next connection: this one's gauze up asks for that, and answers what it has.
func (r *relay) leave(conn *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == conn {
		r.conn, r.leaving = nil, conn
		r.settle()
	}
}

// settle ends what is sent over a connection that the client leaves, once it has answered. The caller holds the lock.
func (r *relay) settle() {
	if r.leaving != nil && !r.memory.waits() {
		r.leaving.CloseWrite()
		r.leaving = nil
		r.change.Broadcast()
	}
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
	for r.await() {
		if r.flush(); r.conn != nil {
			r.conn.CloseWrite()
			return
		}
	}
}

// send sends whole lines, if necessary over several connections, but none of them twice.
func (r *relay) send(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text = r.hold(text)
	for len(text) > 0 && r.await() {
		if r.flush(); r.conn != nil {
			text = r.write(text)
		}
	}
}

// flush sends what was held for a connection. The caller holds the lock.
func (r *relay) flush() {
	for len(r.held) > 0 && r.conn != nil {
		r.held = r.write(r.held)
	}
}

// passHeld is flush for a caller that does not hold the lock.
func (r *relay) passHeld() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}

// write sends whole lines, and returns those that were not sent because the connection is lost. The caller holds the lock.
func (r *relay) write(text []byte) (rest []byte) {
	said := scan(text)
	r.memory.sending(said)
	n, err := r.conn.Write(text)
	r.memory.sent(said, n)
	if err == nil {
		return nil
	}
	r.conn = nil
	return text[bytes.LastIndexByte(text[:n], '\n')+1:]
}

// maxHeld is how many bytes are held for the next connection before the client has to wait.
const maxHeld = 8 << 20

// hold keeps lines for the next connection while the client leaves one, except for those that belong to requests which
// that one still has. It returns the lines that came after the client has left. The caller holds the lock.
func (r *relay) hold(text []byte) (rest []byte) {
	for len(text) > 0 && r.leaving != nil && !r.over {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		switch line := text[:end]; {
		case r.memory.concerns(scan(line)):
			said := scan(line)
			r.memory.sending(said)
			n, _ := r.leaving.Write(line) // if it is lost, so is what this belongs to
			r.memory.sent(said, n)
			r.settle()
		case len(r.held)+end <= maxHeld:
			r.held = append(r.held, line...)
		default:
			r.change.Wait()
			continue
		}
		text = text[end:]
	}
	return text
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
		if conn.ending {
			go r.settled() // a sender has the lock, and may wait for what is read here
		}
	}
}

// settled is settle for a caller that does not hold the lock.
func (r *relay) settled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
}

// tell writes to the client, if there is something to say.
func (r *relay) tell(text []byte) (err error) {
	if len(text) > 0 {
		_, err = r.out.Write(text)
	}
	return err
}

// continues reports whether the session continues with another gauze up.
func (r *relay) continues(conn *Conn, err error) bool {
	if !errors.Is(err, ErrLost) && !conn.ending {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn, r.leaving = nil, nil
	r.change.Broadcast()
	return !r.left || len(r.held) > 0
}

// abandon ends a session that was lost: every request that is open gets an error. Without one, the client misses nothing.
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
	if open == 0 {
		return nil
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
