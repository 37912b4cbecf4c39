package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/dashboard"
	"github.com/gauze-mcp/gauze/internal/gateway"
	"github.com/gauze-mcp/gauze/internal/httpguard"
)

const (
	dashboardAddress  = "127.0.0.1:7301" // where the dashboard is unless --listen says so
	maxDashboardConns = 256
)

// dashboardCommand returns gauze dashboard, which shows in a browser what gauze does.
func dashboardCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show in a browser what runs and what was healed",
		Long: "Serve pages on this machine that show the wrapped servers, what was healed and why, the\n" +
			"tasks, and the configurations of your clients. The address that is printed contains a\n" +
			"token: it gives access to everything that is shown there. Other machines cannot connect.",
		Example: "gauze dashboard\ngauze dashboard --listen 127.0.0.1:0",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := listenDashboard(listen)
			if err != nil {
				return err
			}
			return serveDashboard(cmd, listener)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "loopback `address` to listen on (default: "+dashboardAddress+", or any free port if that is in use)")
	return cmd
}

// listenDashboard listens on this machine only.
func listenDashboard(listen string) (net.Listener, error) {
	if listen == "" {
		if l, err := net.Listen("tcp", dashboardAddress); err == nil {
			return l, nil
		}
		return net.Listen("tcp", "127.0.0.1:0")
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil || !loopback(host) {
		return nil, fmt.Errorf("invalid --listen %q: must be a loopback address and a port, such as %s", listen, dashboardAddress)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; port 0 is any free port", listen, errors.Unwrap(err))
	}
	return l, nil
}

// serveDashboard serves until a signal.
func serveDashboard(cmd *cobra.Command, listener net.Listener) error {
	defer listener.Close()
	token, err := dashboardToken()
	if err != nil {
		return err
	}
	door, end, err := newDoor(dashboard.Options{}, listener.Addr(), token.all[0])
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(cmd.OutOrStdout(), "%s#token=%s\n", dashboardURL(listener.Addr(), "", token.all[0]), token.all[0])
	fmt.Fprintln(cmd.ErrOrStderr(), "gauze: open this address in a browser on this machine; Ctrl-C stops the dashboard")
	ctx, release := untilSignal(cmd.Context(), func() { os.Exit(int(interrupted)) })
	defer release()
	server := httpguard.Server(door)
	stop := context.AfterFunc(ctx, func() {
		end() // streams first
		server.Close()
	})
	defer stop()
	if err := server.Serve(httpguard.LimitConns(listener, maxDashboardConns)); ctx.Err() == nil {
		return err
	}
	return nil
}

// dashboardURL returns the address of a dashboard whose paths are below prefix.
func dashboardURL(addr net.Addr, prefix, token string) string {
	return "http://" + addr.String() + prefix + dashboard.SecretPath(token) + "/"
}

// newDoor returns a dashboard of this user's state, with its guard.
func newDoor(o dashboard.Options, addr net.Addr, token string) (door http.Handler, end func(), err error) {
	dir, err := backup.StateDir()
	if err != nil {
		return nil, nil, err
	}
	metrics := o.Prefix + "/metrics"
	o.Dir, o.Version, o.Prefix = dir, versionText(), o.Prefix+dashboard.SecretPath(token)
	finish := addWork(&o)
	d, err := dashboard.New(o)
	if err != nil {
		return nil, nil, err
	}
	return dashboard.NewDoor(d, addr, token, metrics), func() { d.Close(); finish() }, nil
}

// dashboardToken returns the token of the dashboard. It is not one of gauze serve: an MCP client may
// do less than the user.
func dashboardToken() (ownTokens, error) {
	t, err := keptTokens("dashboard-token")
	if err != nil {
		return t, fmt.Errorf("no token for the dashboard: %w", err)
	}
	return t, nil
}

// lazyDashboard is the dashboard inside gauze serve. It takes no memory before the first request.
type lazyDashboard struct {
	open func() (http.Handler, func(), error)
	once sync.Once
	door http.Handler
	end  func()
	err  error
}

func (l *lazyDashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.once.Do(func() { l.door, l.end, l.err = l.open() })
	if l.door == nil {
		http.Error(w, fmt.Sprint("the dashboard cannot be opened: ", l.err), http.StatusInternalServerError)
		return
	}
	l.door.ServeHTTP(w, r)
}

// close ends the streams to browsers. Later requests open nothing.
func (l *lazyDashboard) close() {
	l.once.Do(func() { l.err = http.ErrServerClosed })
	if l.end != nil {
		l.end()
	}
}

// mountDashboard adds the dashboard to gauze serve if only this machine can connect. say prints where
// it is. A dashboard that cannot be served does not stop gauze serve.
func (f *serveFlags) mountDashboard(front *gateway.Options, addr net.Addr) (say, end func()) {
	nothing := func() {}
	host, _, _ := net.SplitHostPort(addr.String())
	if f.noDashboard || !loopback(host) {
		return nothing, nothing
	}
	token, err := dashboardToken()
	if err != nil {
		return func() { fmt.Fprintln(os.Stderr, "gauze: the dashboard is not available:", err) }, nothing
	}
	lazy := &lazyDashboard{open: func() (http.Handler, func(), error) {
		return newDoor(dashboard.Options{Prefix: gateway.DashboardPath}, addr, token.all[0])
	}}
	front.Dashboard = lazy
	url := dashboardURL(addr, gateway.DashboardPath, token.all[0])
	return func() {
		// The token is shown on a terminal only: stderr of a service is often a log.
		if term.IsTerminal(os.Stderr.Fd()) {
			fmt.Fprintf(os.Stderr, "gauze: dashboard at %s#token=%s\n", url, token.all[0])
			return
		}
		fmt.Fprintf(os.Stderr, "gauze: dashboard at %s; its token is in %s\n", url, token.file)
	}, lazy.close
}
