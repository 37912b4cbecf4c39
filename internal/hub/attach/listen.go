package attach

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/disk/sockets"
)

const (
	acceptPause = 100 * time.Millisecond // after an error such as too many open files
	lingerLimit = time.Second            // how long a client may take to read each of the last messages, and the end of its stream
)

// Listener is a running gauze up that clients can attach to.
type Listener struct {
	// Idle is how long after its last client Serve returns. 0: Serve waits for further clients.
	Idle time.Duration
	// Drain is how long clients may take to get the responses that are due when ctx has ended.
	Drain time.Duration

	place   Place
	token   string
	version string
	socket  net.Listener
	lock    *os.File
	closing sync.Once
	hurried context.Context // ends when the drain does
	hurry   context.CancelFunc
}

// Listen makes this process the gauze up of a place. version is its version of gauze. The error is
// ErrRunning if there is one already; what a killed process left is replaced.
func Listen(ctx context.Context, p Place, version string) (*Listener, error) {
	return listen(ctx, p, version, 0)
}

// ListenOnDemand is Listen for a gauze up that ends when it has had no client for a time.
func ListenOnDemand(ctx context.Context, p Place, version string, idle time.Duration) (*Listener, error) {
	return listen(ctx, p, version, idle)
}

func listen(ctx context.Context, p Place, version string, idle time.Duration) (*Listener, error) {
	if err := sockets.OwnDir(p.dir()); err != nil {
		return nil, err
	}
	lock, err := p.lock(ctx)
	if err != nil {
		return nil, err
	}
	l := &Listener{Idle: idle, place: p, token: rand.Text(), version: version, lock: lock}
	l.hurried, l.hurry = context.WithCancel(context.Background())
	p.sweep(time.Now())
	os.Remove(p.path(fileSuffix))
	os.Remove(p.path(socketSuffix))
	files.RemoveUnfinished(p.path(fileSuffix))
	if l.socket, err = sockets.Listen(p.path(socketSuffix)); err != nil {
		lock.Close()
		return nil, err
	}
	at := l.socket.Addr()
	err = p.announce(announcement{PID: os.Getpid(), Version: version, File: p.File, Network: at.Network(), Address: at.String(), Token: l.token, OnDemand: idle > 0})
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// lock locks the place for as long as the file is open. A gauze up that still has the lock although it
// cannot be reached is about to end, and is waited for.
func (p Place) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(p.path(lockSuffix), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = files.TryLock(f)
	if err == nil {
		return f, nil
	}
	f.Close()
	if !errors.Is(err, files.ErrLocked) {
		return nil, err
	}
	if err := p.probe(ctx); !errors.Is(err, ErrNotRunning) {
		return nil, p.running()
	}
	ctx, cancel := context.WithTimeout(ctx, greetingTimeout)
	defer cancel()
	f, err = files.OpenLocked(ctx, p.path(lockSuffix))
	if err != nil && ctx.Err() != nil {
		return nil, p.running()
	}
	return f, err
}

// running returns ErrRunning with what is known about the running gauze up.
func (p Place) running() error {
	if about, err := p.read(); err == nil {
		return fmt.Errorf("%w for %s (pid %d)", ErrRunning, p.File, about.PID)
	}
	return fmt.Errorf("%w for %s", ErrRunning, p.File)
}

// Close ends listening. The place is free for another gauze up; clients that are attached stay.
func (l *Listener) Close() error {
	l.closing.Do(func() {
		os.Remove(l.place.path(fileSuffix))
		l.socket.Close() // removes the socket
		files.Unlock(l.lock)
		l.lock.Close()
	})
	return nil
}

// Hurry ends a drain that is in progress, or will be.
func (l *Listener) Hurry() { l.hurry() }

// Serve calls serve for each client that attaches, and returns when ctx has ended or the listener is
// closed, by Close or after Idle, and all clients have left. When ctx ends, they are asked to, and get the responses
// that are due, for as long as Drain. in and out are the client's stdin and stdout. A client is
// accepted by the first Read or Write: an error before that refuses it, and is shown to its user. So
// serve must not wait for anything else before. A later error is shown to the user when the session
// ends. The ctx of serve ends if the client is gone; at the end of its input alone it does not.
func (l *Listener) Serve(ctx context.Context, serve func(ctx context.Context, h Hello, in io.Reader, out io.Writer) error) error {
	defer l.hurry()
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	life := newLifetime(l.Idle, func() { l.Close() })
	defer life.stop()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		raw, err := l.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return context.Cause(ctx)
		case err != nil:
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
		default:
			clients.Go(func() { l.attend(ctx, raw, life, serve) })
		}
	}
}

// attend serves one client.
func (l *Listener) attend(ctx context.Context, raw net.Conn, life *lifetime, serve func(context.Context, Hello, io.Reader, io.Writer) error) {
	defer raw.Close()
	h, err := l.welcome(ctx, raw)
	if err == nil && h.purpose == takingOver {
		l.leave(raw)
		return
	}
	if err != nil || !life.enter() {
		return
	}
	defer life.leave()
	serving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	s := &session{raw: raw, conn: newConn(raw, func() { cancel(ErrLost) })}
	defer context.AfterFunc(serving, s.hurry)()
	defer context.AfterFunc(ctx, func() { l.drain(ctx, s, cancel) })()
	err = serve(serving, h, s.in(), s.out())
	s.hurry()
	s.finish(err)
}

// drain asks a client to leave, and calls end when it has taken too long.
func (l *Listener) drain(ctx context.Context, s *session, end func(error)) {
	context.AfterFunc(l.hurried, func() { end(context.Cause(ctx)) })
	time.AfterFunc(l.Drain, l.hurry)
	if l.Drain > 0 && s.reply("") == nil {
		s.conn.leave()
	}
}

// welcome receives the hello of a client, which has to belong to this user and to be quick.
func (l *Listener) welcome(ctx context.Context, raw net.Conn) (Hello, error) {
	if err := sockets.CheckPeer(raw); err != nil {
		return Hello{}, err
	}
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	raw.SetDeadline(time.Now().Add(greetingTimeout))
	h, err := welcome(raw, l.token, l.version)
	raw.SetDeadline(time.Time{})
	return h, err
}

// session is a client that said hello.
type session struct {
	raw    net.Conn
	conn   *Conn
	accept sync.Once
	failed error       // of accept
	ending atomic.Bool // each write has a limit
}

// reader and writer accept the client when they are first used.
type (
	reader struct{ *session }
	writer struct{ *session }
)

func (s *session) in() io.Reader  { return reader{s} }
func (s *session) out() io.Writer { return writer{s} }

// Leave asks the client to end its stream and to come again: its session continues with what is there then. It does not block.
func (r reader) Leave() {
	go func() { // it may not read; then the end of the connection ends this
		if r.reply("") == nil {
			r.conn.leave()
		}
	}()
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.reply(""); err != nil {
		return 0, err
	}
	return r.conn.Read(p)
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.reply(""); err != nil {
		return 0, err
	}
	if w.ending.Load() {
		w.hurry()
	}
	return w.conn.Write(p)
}

// hurry limits how long a write takes, now and from now on: a client that does not read must not keep
// gauze up from ending.
func (s *session) hurry() {
	s.ending.Store(true)
	s.raw.SetWriteDeadline(time.Now().Add(lingerLimit))
}

// reply answers the hello, the first time. An empty reason accepts it.
func (s *session) reply(refused string) error {
	s.accept.Do(func() {
		if s.failed = send(s.raw, reply{Refused: refused}); s.failed != nil {
			s.conn.lost()
		}
	})
	return s.failed
}

// finish ends the stream to the client, and waits a moment for it to read that.
func (s *session) finish(err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
		reason = reason[:min(len(reason), maxReason)]
	}
	if s.reply(reason) != nil || s.conn.end(err) != nil {
		return
	}
	if half, ok := s.raw.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	s.raw.SetReadDeadline(time.Now().Add(lingerLimit))
	io.Copy(io.Discard, s.raw)
}
