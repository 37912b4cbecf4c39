package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// serveFlags are the flags of gauze serve.
type serveFlags struct {
	serverFlags
	front      gateway.Options
	oauth      oauthFlags
	listen     string
	tokenFile  string
	tokenEnv   string
	noToken    bool
	statusFile string
	quiet      bool
	noJournal  bool

	noDashboard bool
}

func serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [flags] -- COMMAND [ARGS...]",
		Short: "Serve an MCP server over HTTP and keep it alive",
		Long: "Serve COMMAND, an MCP server on stdio, or a remote server (--url), over streamable HTTP\n" +
			"at http://127.0.0.1:7300/mcp. Each client session gets its own server; clients that\n" +
			"use protocol 2026-07-28, which has no sessions, share one. All servers are kept alive as\n" +
			"with gauze run. GET /healthz reports that gauze is running, GET /readyz the state of the\n" +
			"server, GET /metrics metrics for Prometheus. The dashboard is at /dashboard/ if\n" +
			"the address is loopback.\n\n" +
			"Clients must send a token. Unless you choose one, gauze creates one at the first\n" +
			"start, shows it once as an entry for a client's configuration, and keeps it in its\n" +
			"state directory. With --oauth-issuer, clients send access tokens from your\n" +
			"authorization server instead; clients that support OAuth find it on their own. The\n" +
			"server never receives clients' tokens.",
		Example: "  gauze serve -- npx -y @modelcontextprotocol/server-everything\n" +
			"  gauze serve --listen 127.0.0.1:8080 --token-env MCP_TOKEN -- uvx my-server\n" +
			"  gauze serve --oauth-issuer https://auth.example.com -- uvx my-server",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.serve(cmd, args) },
	}
	flags := cmd.Flags()
	f.add(flags)
	f.login.mayShare = true
	flags.Lookup("login").Usage += ". If clients are different users (--oauth-issuer, several tokens), each user has their own login, and gauze does not open your browser for them; shared uses your login for all of them, with all of its permissions"
	flags.Lookup("max-message").Usage += "; requests are limited to 16MiB unless you set this"
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7300", "`address` to listen on; requires --token-env, --token-file or --oauth-issuer unless it is loopback")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the accepted tokens, one per line; each token has its own sessions (default: a token that gauze creates)")
	flags.StringVar(&f.tokenEnv, "token-env", "", "environment `variable` with the token that clients must send")
	flags.BoolVar(&f.noToken, "no-token", false, "accept requests without a token from every program and user on this machine")
	f.oauth.add(flags)
	flags.StringArrayVar(&f.front.Hosts, "allow-host", nil, "additional `host` name that clients use to reach gauze, as HOST or HOST:PORT (repeatable)")
	flags.StringArrayVar(&f.front.Origins, "allow-origin", nil, "`origin` of a web page that may connect, such as https://app.example.com (repeatable)")
	flags.IntVar(&f.front.MaxSessions, "max-sessions", 0, "maximum `number` of sessions, each with its own server (default: 64; 1024 with --url)")
	flags.DurationVar(&f.front.Idle, "session-idle", 30*time.Minute, "idle `time` after which a session ends")
	flags.DurationVar(&f.front.Drain, "drain", 10*time.Second, "`time` allowed for requests in flight to finish when gauze stops")
	flags.DurationVar(&f.front.KeepAlive, "keep-alive", 15*time.Second, "idle `time` before a keep-alive is sent on a stream")
	flags.DurationVar(&f.front.IdleProbe, "idle-probe", proxy.LookEvery, "`time` between probes of an idle server, for /readyz; 0 disables them")
	flags.StringVar(&f.statusFile, "status-file", "", "write counters as JSON to this `file` on exit")
	flags.BoolVar(&f.quiet, "quiet", false, "do not report healed failures on stderr")
	flags.BoolVar(&f.front.Resumable, "resumable", false, "let clients that lost their connection retrieve the messages they missed (Last-Event-ID)")
	flags.BoolVar(&f.noDashboard, "no-dashboard", false, "do not serve the dashboard at "+gateway.DashboardPath)
	journalFlag(flags, &f.noJournal)
	rare(flags, "url", "header-env", "name", "listen", "token-env", "oauth-issuer", "allow-host")
	return cmd
}

func (f *serveFlags) serve(cmd *cobra.Command, args []string) error {
	if err := f.checkFront(cmd); err != nil {
		return err
	}
	o, err := f.options("serve", cmd.Flags(), args)
	if err != nil {
		return err
	}
	o.Stderr = serverLog(os.Stderr)
	o.Events = event.New()
	front := f.front
	front.Session = o
	if front.Tokens, err = f.chosenTokens(); err != nil {
		return err
	}
	for _, variable := range []string{f.tokenEnv, f.oauth.secretEnv} {
		if variable != "" && o.Spec.URL == "" {
			// It is about clients; the server has no use for it.
			o.Spec.Env = slices.DeleteFunc(o.Spec.Environment(), func(pair string) bool { return strings.HasPrefix(pair, variable+"=") })
			front.Session = o
		}
	}
	if front.Drain == 0 {
		front.Drain = -1
	}
	if front.IdleProbe == 0 {
		front.IdleProbe = -1
	}
	if front.MaxSessions == 0 && o.Spec.URL != "" {
		front.MaxSessions = 1024 // each costs a connection, not a process
	}
	front.Reachable = func(context.Context) error { return resolvable(o.Spec) }
	if o.Spec.URL != "" {
		remote, err := upstream.NewRemote(o.Spec) // all sessions use the same connections
		if err != nil {
			return err
		}
		defer remote.Close()
		front.Session.Remote, front.Reachable = remote, remote.Reach
	}
	listener, err := f.open(len(front.Tokens) > 0 || f.oauth.issuer != "", "use --oauth-issuer, ")
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := f.oauth.protect(cmd.Context(), &front, listener.Addr()); err != nil {
		return err
	}
	var own ownTokens
	if len(front.Tokens) == 0 && front.OAuth == nil && !f.noToken {
		// Create a token only now: it is shown once.
		if own, err = serveTokens(); err != nil {
			return err
		}
		front.Tokens = own.all
	}
	if err := checkLogins(&front); err != nil {
		return err
	}
	recorded := recordEvents(o.Events, f.noJournal)
	finish := func() fault.Code { return "" }
	if !f.quiet {
		finish = narrate(o.Events, os.Stderr)
	}
	exporter := newExporter(&front.Session, "tcp")
	sayDashboard, closeDashboard := f.mountDashboard(&front, listener.Addr())
	defer closeDashboard()
	g := gateway.New(front, listener.Addr())
	// Programs that start gauze wait for this line, so --quiet does not suppress it.
	url := "http://" + listener.Addr().String() + gateway.Path
	fmt.Fprintln(os.Stderr, "gauze: listening on", url)
	if own.file != "" {
		own.announce(os.Stdout, os.Stderr, f.wrap.Name, url)
	}
	f.oauth.announce(front.OAuth)
	announceLogin(os.Stderr, o.Spec, &front)
	sayDashboard()
	seen := observeGateway(g, "serve", recorded)
	g.Metrics = seen.metrics()
	hide := seen.announce()
	exporter.Watch(seen.source().Server)
	err = serveUntilSignal(cmd.Context(), g, listener)
	exporter.Close(maxExportWait)
	hide()
	finish()
	lost := recorded.finish()
	if f.statusFile != "" {
		if err := writeGatewayStatus(f.statusFile, g, lost); err != nil {
			fmt.Fprintln(os.Stderr, "gauze:", err)
		}
	}
	return err
}

func (f *serveFlags) checkFront(cmd *cobra.Command) error {
	for _, name := range []string{"session-idle", "keep-alive"} {
		if d, err := cmd.Flags().GetDuration(name); err == nil && d <= 0 {
			return fmt.Errorf("invalid --%s %v: must be a positive duration, such as 30s or 5m", name, d)
		}
	}
	if f.front.Drain < 0 {
		return fmt.Errorf("invalid --drain %v: must be 0 or more", f.front.Drain)
	}
	if f.front.IdleProbe < 0 {
		return fmt.Errorf("invalid --idle-probe %v: must be 0 or more", f.front.IdleProbe)
	}
	if cmd.Flags().Changed("max-sessions") && f.front.MaxSessions <= 0 {
		return fmt.Errorf("invalid --max-sessions %d: must be above 0", f.front.MaxSessions)
	}
	for _, origin := range f.front.Origins {
		if !strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://") {
			return fmt.Errorf("invalid --allow-origin %q: must be an origin such as https://app.example.com", origin)
		}
	}
	for _, host := range f.front.Hosts {
		if host == "" || strings.ContainsAny(host, "/*@ ") {
			return fmt.Errorf("invalid --allow-host %q: must be HOST or HOST:PORT, exactly as clients send it", host)
		}
	}
	return f.oauth.check(f.listen, f.tokenFile != "" || f.tokenEnv != "" || f.noToken)
}

// open starts to listen. An address that other machines can reach requires a token that the user
// chose, or what else instead says.
func (f *serveFlags) open(chosen bool, instead string) (net.Listener, error) {
	if err := f.checkListen(chosen, instead); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; use --listen to choose another address (port 0 for any free port)", f.listen, errors.Unwrap(err))
	}
	return listener, nil
}

// checkListen returns an error if the address is invalid, or can be reached from other machines without a token.
func (f *serveFlags) checkListen(chosen bool, instead string) error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return fmt.Errorf("invalid --listen %q: must be HOST:PORT, such as 127.0.0.1:7300", f.listen)
	}
	if !launch.IsLoopback(host) && !chosen {
		return fmt.Errorf("%s can be reached from other machines: set a token with --token-env or --token-file, %sor listen on 127.0.0.1", f.listen, instead)
	}
	return nil
}

// resolvable returns an error if the server's command does not exist.
func resolvable(spec launch.Spec) error {
	command := spec.Command
	if spec.Dir != "" && !filepath.IsAbs(command) && strings.ContainsRune(command, filepath.Separator) {
		command = filepath.Join(spec.Dir, command)
	}
	_, err := exec.LookPath(command)
	return err
}

// serveUntilSignal serves until the first signal, which lets requests in
// flight finish; the second one ends them.
func serveUntilSignal(ctx context.Context, g *gateway.Gateway, listener net.Listener) error {
	ctx, release := untilSignal(ctx, g.Hurry)
	defer release()
	return g.Serve(ctx, listener)
}
