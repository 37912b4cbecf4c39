package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/metrics"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// upFlags are the flags of gauze up.
type upFlags struct {
	serveFlags
	service  installFlags
	idle     time.Duration
	check    bool
	confirm  string
	consent  string
	onDemand bool
}

func upCommand() *cobra.Command {
	f := &upFlags{}
	cmd := &cobra.Command{
		Use:   "up [flags] [FILE]",
		Short: "Serve all your MCP servers at one address",
		Long: "Serve the MCP servers of FILE at one address and keep each of them alive as gauze run\n" +
			"does. Clients connect over HTTP, or over stdio with gauze connect:\n\n" +
			"  http://127.0.0.1:7300/mcp             all servers; tools are SERVER__TOOL\n" +
			"  http://127.0.0.1:7300/mcp/SERVER      one server, as it is\n" +
			"  http://127.0.0.1:7300/mcp/p/PROFILE   the servers and tools of a profile\n\n" +
			"A server starts when it is first used. One that fails does not affect the others.\n" +
			"FILE is read again when it changes, and on SIGHUP; if it has an error, gauze keeps\n" +
			"using the previous version.",
		Example: "  gauze up\n" +
			"  gauze up --check team.yaml\n" +
			"  gauze up --listen 127.0.0.1:8080 team.yaml",
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.up(cmd, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.check, "check", false, "check FILE, list its servers, and exit")
	flags.StringVar(&f.confirm, "confirm", "", "show the entry of this `server`, which comes from a project, and allow gauze up to start it; or show its tools, and accept them (lock)")
	flags.StringVar(&f.consent, "consent", "", "with --confirm: `token` from its output, to confirm exactly what it shows")
	flags.BoolVar(&f.onDemand, "on-demand", false, "serve only gauze connect, and exit after its last client; gauze connect uses this")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7300", "`address` to listen on; requires --token-env or --token-file unless it is loopback")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the accepted tokens, one per line (default: a token that gauze creates)")
	flags.StringVar(&f.tokenEnv, "token-env", "", "environment `variable` with the token that clients must send")
	flags.BoolVar(&f.noToken, "no-token", false, "accept requests without a token from every program and user on this machine")
	flags.StringArrayVar(&f.front.Hosts, "allow-host", nil, "additional `host` name that clients use to reach gauze, as HOST or HOST:PORT (repeatable)")
	flags.StringArrayVar(&f.front.Origins, "allow-origin", nil, "`origin` of a web page that may connect, such as https://app.example.com (repeatable)")
	flags.DurationVar(&f.idle, "idle", 0, "`time` after which an unused server is stopped until it is needed again (default: never)")
	flags.DurationVar(&f.front.Drain, "drain", 10*time.Second, "`time` allowed for requests in flight to finish when gauze stops")
	flags.BoolVar(&f.quiet, "quiet", false, "do not report healed failures on stderr")
	flags.BoolVar(&f.noDashboard, "no-dashboard", false, "do not serve the dashboard at "+gateway.DashboardPath)
	journalFlag(flags, &f.noJournal)
	f.service.add(flags)
	flags.MarkHidden("on-demand")
	rare(flags, "check", "install", "listen", "token-env", "idle")
	return cmd
}

func (f *upFlags) up(cmd *cobra.Command, args []string) error {
	switch {
	case f.idle < 0:
		return fmt.Errorf("invalid --idle %v: must be 0 or more", f.idle)
	case f.service.given() && (f.check || f.confirm != "" || f.onDemand), f.check && f.confirm != "":
		return usage(cmd, errors.New("use only one of --check, --confirm, --install and --uninstall"))
	case f.consent != "" && f.confirm == "":
		return usage(cmd, errors.New("--consent requires --confirm"))
	}
	if err := f.service.check(f.tokenEnv); err != nil {
		return usage(cmd, err)
	}
	path, err := upFile(strings.Join(args, "")) // there is at most one
	if err != nil {
		return err
	}
	switch {
	case f.service.install:
		return f.installUp(cmd, path)
	case f.service.uninstall:
		return f.uninstallUp(cmd)
	}
	if f.check {
		general, err := f.keptOrChosen()
		if err != nil {
			return err
		}
		return checkUp(cmd.OutOrStdout(), path, general...)
	}
	if f.confirm != "" {
		return confirmUp(cmd, path, f.confirm, f.consent)
	}
	if f.onDemand {
		return f.serveOnDemand(cmd.Context(), path)
	}
	return f.serveFile(cmd, path)
}

// crew is what runs beside the servers of a file: their events, and who can see them.
type crew struct {
	events   *event.Stream
	recorded recording
	finish   func()
	reloads  *reloader
	mu       sync.Mutex
	seen     map[*gateway.Gateway]observed
}

func newCrew(f *upFlags, r *reloader) *crew {
	c := &crew{events: event.New(), reloads: r, seen: map[*gateway.Gateway]observed{}, finish: func() {}}
	c.recorded = recordEvents(c.events, f.noJournal)
	if !f.quiet {
		done := narrate(c.events, os.Stderr)
		c.finish = func() { done() }
	}
	return c
}

// announce shows a server to other commands.
func (c *crew) announce(g *gateway.Gateway) (hide func()) {
	seen := observeGateway(g, "up", c.recorded)
	seen.reloads = c.reloads
	c.mu.Lock()
	c.seen[g] = seen
	c.mu.Unlock()
	end := seen.announce()
	return func() {
		c.mu.Lock()
		delete(c.seen, g)
		c.mu.Unlock()
		end()
	}
}

// servers returns what can be seen of all servers.
func (c *crew) servers(context.Context) (all []live.Server, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seen := range c.seen {
		all = append(all, seen.source().Server())
	}
	return all, nil
}

func (c *crew) end() {
	c.finish()
	c.recorded.finish()
}

// options returns how the servers of a file are run.
func (f *upFlags) options(c *crew) hub.Options {
	reduceMemory(busyGateway)
	o := proxy.Options{Stderr: serverLog(os.Stderr), Events: c.events}
	consult(&o, true)
	return hub.Options{Session: o, Idle: f.idle, Software: versionText(), Announce: c.announce}
}

// serveFile serves a file over HTTP and to gauze connect, until a signal ends it.
func (f *upFlags) serveFile(cmd *cobra.Command, path string) error {
	reloads := newReloader(path)
	if f.tokenEnv != "" {
		reloads.private = []string{f.tokenEnv} // the servers have no use for its token
	}
	file, err := reloads.read()
	if err != nil {
		return err
	}
	chosen, err := f.chosenTokens()
	if err != nil {
		return err
	}
	listener, err := f.open(len(chosen) > 0, "")
	if err != nil {
		return err
	}
	defer listener.Close()
	var own ownTokens
	if len(chosen) == 0 && !f.noToken {
		if own, err = serveTokens(); err != nil {
			return err
		}
		chosen = own.all
	}
	c := newCrew(f, reloads)
	defer c.end()
	o := f.options(c)
	o.Front, o.Addr = f.front, listener.Addr()
	o.Front.Tokens = chosen
	o.Pinned = func(file *upfile.File) (map[string]string, error) { return file.Pinned(os.Getenv, chosen) }
	o.Front.Metrics = metrics.New(versionText(), c.servers)
	sayDashboard, closeDashboard := f.mountDashboard(&o.Front, listener.Addr())
	defer closeDashboard()
	h, err := hub.New(file, o)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + gateway.Path
	fmt.Fprintln(os.Stderr, "gauze: listening on", url) // programs that start gauze wait for this line
	fmt.Fprintf(os.Stderr, "gauze: %s of %s\n", plaintext.Count(len(file.Servers), "server"), path)
	tellMissing(file)
	if own.file != "" {
		own.announce(os.Stdout, os.Stderr, "gauze", url)
	}
	sayDashboard()
	hurried, hurry := context.WithCancel(context.Background())
	defer hurry()
	ctx, release := untilInterrupted(cmd.Context(), func() { hurry(); h.Hurry() })
	defer release()
	var beside sync.WaitGroup
	beside.Go(func() { c.reloads.keepReading(ctx, h) })
	beside.Go(func() { f.serveAttached(ctx, hurried, h, path) })
	return serveHub(ctx, h, listener, beside.Wait)
}

// serveHub serves clients from l until ctx ends, and returns when no server is left. others waits for the clients that
// do not come over HTTP, which need the servers until then.
func serveHub(ctx context.Context, h *hub.Hub, l net.Listener, others func()) error {
	server := httpguard.Server(h)
	server.ConnContext = h.NumberConn
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(httpguard.LimitConns(l, maxUpConns)) }()
	select {
	case err := <-failed:
		gateway.Shutdown(server, h.End)
		return err
	case <-ctx.Done():
		l.Close()
		others()
		gateway.Shutdown(server, h.End)
		<-failed
		return nil
	}
}

// maxUpConns is how many connections may be open at the same time.
const maxUpConns = 8192

// serveAttached serves the clients of gauze connect.
func (f *upFlags) serveAttached(ctx, hurried context.Context, h *hub.Hub, path string) {
	place, err := upPlace(path)
	if err == nil {
		var l *attach.Listener
		if l, err = attach.TakeOver(ctx, place, versionText()); err == nil {
			err = f.serveClients(ctx, hurried, l, h)
		}
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "gauze: gauze connect cannot reach this gauze up:", err)
	}
}

// serveClients serves the clients of a listener. If ctx ends, they get the responses that are due, until hurried ends.
func (f *upFlags) serveClients(ctx, hurried context.Context, l *attach.Listener, h *hub.Hub) error {
	l.Drain = f.front.Drain
	defer context.AfterFunc(hurried, l.Hurry)()
	return l.Serve(ctx, attached(h))
}

// attached serves one client of gauze connect.
func attached(h *hub.Hub) func(context.Context, attach.Hello, io.Reader, io.Writer) error {
	return func(ctx context.Context, hello attach.Hello, in io.Reader, out io.Writer) error {
		return h.Serve(ctx, hub.Client{Dir: hello.Dir, Env: hello.Env}, hello.Server, hello.Profile, in, out)
	}
}

// upPlace returns where gauze connect and gauze up of a file meet.
func upPlace(path string) (attach.Place, error) {
	state, err := backup.StateDir()
	return attach.Place{State: state, File: path}, err
}

// demandIdle is how long a server that was started for gauze connect runs without use.
const demandIdle = 10 * time.Minute

// serveOnDemand serves gauze connect until its last client has been gone for a while.
func (f *upFlags) serveOnDemand(ctx context.Context, path string) error {
	place, err := upPlace(path)
	if err != nil {
		return err
	}
	defer attach.LimitLog(place)()
	f.quiet = true
	if f.idle == 0 {
		f.idle = demandIdle
	}
	c := newCrew(f, newReloader(path))
	defer c.end()
	h, err := f.openHub(c)
	if err != nil {
		attach.Ready(err)
		return err
	}
	defer h.End()
	hurried, hurry := context.WithCancel(context.Background())
	defer hurry()
	ctx, release := untilInterrupted(ctx, func() { hurry(); h.Hurry() })
	defer release()
	l, err := listenOnDemand(ctx, place)
	if errors.Is(err, attach.ErrRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { c.reloads.keepReading(ctx, h) })
	err = f.serveClients(ctx, hurried, l, h)
	stop()
	beside.Wait()
	return err
}

// openHub runs the servers of a file without an address.
func (f *upFlags) openHub(c *crew) (*hub.Hub, error) {
	file, err := c.reloads.read()
	if err != nil {
		return nil, err
	}
	tellMissing(file)
	return hub.New(file, f.options(c))
}

// serveAlone serves one client with the servers of a file, in this process.
func serveAlone(ctx context.Context, hello attach.Hello, path string, in io.Reader, out io.Writer) error {
	f := &upFlags{}
	c := newCrew(f, newReloader(path))
	defer c.end()
	h, err := f.openHub(c)
	if err != nil {
		return err
	}
	defer h.End()
	surviveReaders()
	ctx, release := untilSignal(ctx, func() { os.Exit(int(interrupted)) })
	defer release()
	return attached(h)(ctx, hello, in, out)
}
