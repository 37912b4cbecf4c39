package gateway

import (
	"context"
	"io"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Join returns a session with the server for a client that does not come over this gateway's HTTP; change sets what is
// different for it. The session is seen, looked at, restarted and ended with the gateway's own.
func (g *Gateway) Join(change func(o *proxy.Options)) *Joined {
	o := g.Session
	o.Writes = &g.table.writes
	change(&o)
	return &Joined{session: proxy.New(o), table: g.table}
}

// Joined is a session of a gateway whose client is elsewhere.
type Joined struct {
	session *proxy.Session
	table   *table
	life    life
}

// FromClient handles one line from the client, as proxy.Session does.
func (j *Joined) FromClient(line []byte) { j.session.FromClient(line) }

// Flush sends what FromClient left queued for the server.
func (j *Joined) Flush() { j.session.Flush() }

// Hurry makes an end that is in progress skip its waits.
func (j *Joined) Hurry() { j.session.Hurry() }

// Attend runs the session until ctx or the gateway ends, and returns when nothing of the server is left.
func (j *Joined) Attend(ctx context.Context) error { return j.run(ctx, j.session.Attend) }

// Serve is Attend for a client on in and out; it also ends when in does.
func (j *Joined) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return j.run(ctx, func(ctx context.Context) error { return j.session.Serve(ctx, in, out) })
}

func (j *Joined) run(ctx context.Context, session func(context.Context) error) error {
	t := j.table
	ctx, j.life.stop = context.WithCancel(ctx)
	defer j.life.stop()
	defer context.AfterFunc(t.life, j.life.stop)()
	j.life.peer, j.life.proxy = j.session, j.session
	t.mu.Lock()
	if !t.draining {
		t.running.Add(1)
		defer t.running.Done()
	}
	t.enter(&j.life)
	t.mu.Unlock()
	t.housekeeper.wakeUp()
	defer t.exit(&j.life)
	return session(ctx)
}
