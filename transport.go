package gauze

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/health"
)

// Transport is an [mcp.Transport] that keeps its server usable: a client session over it stays
// connected while the server is restarted.
//
// Each Connect starts a server of its own. The other methods describe that of the latest Connect, also
// after it was closed.
type Transport struct {
	options Options

	mu     sync.Mutex
	latest *Wrap // of the latest Connect; nil before the first
}

// NewTransport returns a Transport. It returns an error if o is invalid. No server is started before
// Connect. A later change of the slices and maps in o has no effect.
func NewTransport(o Options) (*Transport, error) {
	o = o.owned()
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Transport{options: o}, nil
}

// Connect implements [mcp.Transport]. The server runs until the connection is closed; canceling ctx
// does not stop it.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	wrap, err := New(t.options)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.latest = wrap
	t.mu.Unlock()
	return newConnection(context.WithoutCancel(ctx), wrap.Serve), nil
}

// Reconnect replaces the server of the latest Connect and keeps its session, see [Wrap.Reconnect].
func (t *Transport) Reconnect(ctx context.Context) error {
	if w := t.wrap(); w != nil {
		return w.Reconnect(ctx)
	}
	return errors.New("gauze: Reconnect was called before Connect")
}

// Health returns the server's current state. It is dead before Connect.
func (t *Transport) Health() (h health.Snapshot) {
	if w := t.wrap(); w != nil {
		h = w.Health()
	}
	return h
}

// Failures returns the last failures of the server, oldest first.
func (t *Transport) Failures() (all []health.Failure) {
	if w := t.wrap(); w != nil {
		all = w.Failures()
	}
	return all
}

// Outage returns why the server is unavailable. It is nil before Connect, and if the server is
// connected or being started.
func (t *Transport) Outage() (o *health.Outage) {
	if w := t.wrap(); w != nil {
		o = w.Outage()
	}
	return o
}

// Counters returns what happened to the calls so far.
func (t *Transport) Counters() (c Counters) {
	if w := t.wrap(); w != nil {
		c = w.Counters()
	}
	return c
}

// Recoveries returns the restarts of the server so far, oldest first.
func (t *Transport) Recoveries() (all []health.Recovery) {
	if w := t.wrap(); w != nil {
		all = w.Recoveries()
	}
	return all
}

func (t *Transport) wrap() *Wrap {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latest
}

// connection is the client's end of a Wrap. Its messages pass through channels, so that Read and
// Write can return when their context is done without losing or cutting a message.
type connection struct {
	cancel   context.CancelFunc
	incoming chan jsonrpc.Message
	outgoing chan []byte
	closing  chan struct{} // closed by Close
	ended    chan struct{} // closed when serve has read the end of the messages
	close    sync.Once
	done     chan struct{} // closed when serve has returned
	err      error         // returned by serve; valid once done is closed
}

// newConnection runs serve, which is Wrap.Serve, until the connection is closed.
func newConnection(ctx context.Context, serve func(context.Context, io.Reader, io.Writer) error) *connection {
	toServer, clientWrites := io.Pipe()
	clientReads, fromServer := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{
		cancel: cancel, incoming: make(chan jsonrpc.Message), outgoing: make(chan []byte),
		closing: make(chan struct{}), ended: make(chan struct{}), done: make(chan struct{}),
	}
	go func() {
		defer close(c.done)
		c.err = serve(ctx, &endReader{r: toServer, ended: c.ended}, fromServer)
		fromServer.Close()
		toServer.Close()
	}()
	go c.send(clientWrites)
	go c.receive(clientReads)
	return c
}

// endReader closes ended when r has ended.
type endReader struct {
	r     io.Reader
	ended chan struct{}
	once  sync.Once
}

func (e *endReader) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if err != nil {
		e.once.Do(func() { close(e.ended) })
	}
	return n, err
}

// send writes messages to the server until the connection is closed.
func (c *connection) send(w *io.PipeWriter) {
	defer w.Close()
	for {
		select {
		case line := <-c.outgoing:
			if _, err := w.Write(line); err != nil {
				return
			}
		case <-c.closing:
			return
		case <-c.done:
			return
		}
	}
}

// receive decodes messages from the server until it has stopped. After Close they are discarded.
func (c *connection) receive(r io.Reader) {
	defer close(c.incoming)
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			<-c.done
			return
		}
		if m := decode(line); m != nil {
			select {
			case c.incoming <- m:
			case <-c.closing:
			}
		}
	}
}

// decode returns the message in a line, or nil for one that the SDK cannot read: that must not end
// the session. The fault that an error reports is made available to errors.As.
func decode(line []byte) jsonrpc.Message {
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return unreadable(line, err)
	}
	if response, ok := m.(*jsonrpc.Response); ok && response.Error != nil {
		response.Error = withFault(response.Error)
	}
	return m
}

// unreadable returns an error response in place of one that the SDK cannot read, so that its caller
// does not wait indefinitely, or nil for any other message.
func unreadable(line []byte, reason error) jsonrpc.Message {
	var envelope struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if json.Unmarshal(line, &envelope) != nil || envelope.Method != "" {
		return nil
	}
	id, err := jsonrpc.MakeID(envelope.ID)
	if err != nil || !id.IsValid() {
		return nil
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "gauze: the server's response cannot be decoded: " + reason.Error()}}
}

// Read implements [mcp.Connection].
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case m, ok := <-c.incoming:
		if ok {
			return m, nil
		}
		if c.err != nil {
			return nil, c.err
		}
		return nil, io.EOF
	}
}

// Write implements [mcp.Connection]. A message whose context is done before the session accepted it
// is not sent.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case c.outgoing <- append(line, '\n'):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing:
		return io.ErrClosedPipe
	case <-c.done:
		return io.ErrClosedPipe
	}
}

// closeTimeout is how long Close waits for the session to read the messages that were written.
const closeTimeout = 2 * time.Second

// Close implements [mcp.Connection]. It stops the server, returns when that is done, and reports why
// the server could not be kept running, if it could not. A server that does not read its messages
// is stopped without them.
func (c *connection) Close() error {
	c.close.Do(func() { close(c.closing) })
	select {
	case <-c.ended:
	case <-c.done:
	case <-time.After(closeTimeout):
		c.cancel()
	}
	<-c.done
	c.cancel()
	return c.err
}

// SessionID implements [mcp.Connection].
func (c *connection) SessionID() string { return "" }
