package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Further attempts, if gauze up cannot be started, or exits before it knows the session.
const (
	maxResumes  = 5
	resumePause = 200 * time.Millisecond
)

// resume attaches to another gauze up, and makes its session what the last one was.
func (r *relay) resume(ctx context.Context, again func(context.Context) (*Conn, error)) (*Conn, *lines, error) {
	for try := 1; ; try++ {
		conn, l, err := r.attempt(ctx, again)
		if err == nil || try == maxResumes || errors.Is(err, errDiffers) || isRefusal(err) {
			return conn, l, err
		}
		if !pause.For(ctx, resumePause) {
			return nil, nil, context.Cause(ctx)
		}
	}
}

// attempt is one attempt of resume.
func (r *relay) attempt(ctx context.Context, again func(context.Context) (*Conn, error)) (*Conn, *lines, error) {
	conn, err := again(ctx)
	if err != nil {
		return nil, nil, err
	}
	l := &lines{from: conn}
	if err := r.introduce(ctx, conn, l); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, l, nil
}

// errDiffers means that a gauze up cannot continue the session.
var errDiffers = errors.New("the next gauze up differs")

func isRefusal(err error) bool {
	_, refused := errors.AsType[*Refusal](err)
	return refused
}

// introduce tells a gauze up what the client has told the last one, and sends the requests that may be sent again.
// Then the client continues, and gets notifications that lists may have changed.
func (r *relay) introduce(ctx context.Context, conn *Conn, l *lines) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var hello *wire.Message
	greeting := r.memory.greeting(func(m wire.Message) { hello = &m })
	if _, err := conn.Write(greeting); err != nil {
		return ErrLost
	}
	for greeting != nil && hello == nil {
		text, err := l.next()
		if err != nil {
			return err
		}
		if err := r.tell(r.memory.received(text)); err != nil {
			return err
		}
	}
	news, err := r.memory.agreed(hello)
	if err != nil {
		return err
	}
	if _, err := conn.Write(r.memory.rest()); err != nil {
		return ErrLost
	}
	r.use(conn)
	return r.tell(news)
}

// greeting returns the client's initialize as a request of ours; nil: a session has not begun, or the client still waits
// for the response.
func (m *memory) greeting(done func(wire.Message)) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.initialize == nil || m.version == "" {
		return nil
	}
	first, _, _ := wire.Scan(m.initialize) // was scanned before
	return m.ask("initialize", first.Params, done)
}

// agreed checks the response to our initialize, and returns the notifications that lists may have changed.
func (m *memory) agreed(hello *wire.Message) (news []byte, err error) {
	if hello == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch version := versionOf(hello); {
	case hello.Error != nil:
		return nil, fmt.Errorf("%w: it answers initialize with an error: %.300s", errDiffers, hello.Error)
	case version != m.version:
		return nil, fmt.Errorf("%w: it uses version %q of the protocol, and the client uses %q", errDiffers, version, m.version)
	case m.initialized == nil:
		return nil, nil
	}
	offered, _ := wire.Field(hello.Result, "capabilities")
	for _, kind := range []string{"tools", "prompts", "resources"} {
		capability, _ := wire.Field(offered, kind)
		if announced, _ := wire.Field(capability, "listChanged"); string(announced) == "true" {
			news = fmt.Appendf(news, `{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`+"\n", kind)
		}
	}
	return news, nil
}

// rest returns what follows initialize: the state of the session, and open requests.
func (m *memory) rest() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b bytes.Buffer
	line := func(text []byte) {
		b.Write(text)
		b.WriteByte('\n')
	}
	ignored := func(wire.Message) {}
	ids := m.inOrder()
	if len(ids) > 0 && m.open[ids[0]].method == "initialize" { // nothing may come before it
		line(m.open[ids[0]].again)
		ids = ids[1:]
	}
	if m.initialized != nil {
		line(m.initialized)
	}
	if m.level != nil {
		b.Write(m.ask("logging/setLevel", m.level, ignored))
	}
	for _, uri := range slices.Sorted(maps.Keys(m.subscribed)) {
		b.Write(m.ask("resources/subscribe", m.subscribed[uri], ignored))
	}
	for _, id := range ids {
		line(m.open[id].again)
	}
	return b.Bytes()
}
