package gateway

import (
	"context"
	"io"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Join returns a session with the server for a client that does not come over this gateway's HTTP; change sets what is
// different for it, such as the Principal of a client that has a token. The session is seen, looked at, restarted and
// ended with the gateway's own.
func (g *Gateway) Join(change func(o *proxy.Options)) *Joined {
	j := &Joined{table: g.table, gateway: g, ended: func() {}}
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	o := g.table.session
	o.Writes = &g.table.writes
	change(&o)
	if g.table.ownLogins && o.Principal != "" {
		j.ended = g.table.useAccount(&o, tokenAccount(o.Principal))
	}
	j.session = proxy.New(o)
	return j
}

// Renew makes the server another command. Sessions of this gateway's own clients go on with it as soon as their calls
// have ended; new ones begin with it, and with the policies, the idle time and the window of o. Those that joined are
// renewed by who made them. Both servers must be commands.
func (g *Gateway) Renew(o proxy.Options) {
	t := g.table
	t.mu.Lock()
	t.session.Spec, t.session.Tools, t.session.Idle, t.session.Limits.Window = o.Spec, o.Tools, o.Idle, o.Limits.Window
	var own []*proxy.Session
	for _, s := range t.sessions {
		own = append(own, s.life.proxy)
	}
	for _, s := range t.shared {
		own = append(own, s.life.proxy)
	}
	t.mu.Unlock()
	for _, s := range own {
		proxy.Renew(o.Spec, s)
	}
}

// Current returns the options of new sessions: Options.Session, as Renew has changed it.
func (g *Gateway) Current() proxy.Options {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	return g.table.session
}

// Joined is a session of a gateway whose client is elsewhere.
type Joined struct {
	session *proxy.Session
	gateway *Gateway
	table   *table
	life    life
	ended   func() // called when the session has ended
}

// Gateway returns the gateway that has the session.
func (j *Joined) Gateway() *Gateway { return j.gateway }

// FromClient handles one line from the client, as proxy.Session does.
func (j *Joined) FromClient(line []byte) { j.session.FromClient(line) }

// Flush sends what FromClient left queued for the server.
func (j *Joined) Flush() { j.session.Flush() }

// Mirrors returns the arguments of a tool that HTTP repeats in headers.
func (j *Joined) Mirrors(tool string) ([]wire.Mirror, bool) { return j.session.Mirrors(tool) }

// Hurry makes an end that is in progress skip its waits.
func (j *Joined) Hurry() { j.session.Hurry() }

// Renew makes the server another command, as soon as no call is in flight. Both must be commands.
func (j *Joined) Renew(spec launch.Spec) { proxy.Renew(spec, j.session) }

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
	defer j.ended()
	defer t.exit(&j.life)
	return session(ctx)
}
