package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/dashboard"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

const (
	dashboardAddress  = "127.0.0.1:7301" // where the dashboard is unless --listen says so
	maxDashboardConns = 256
)

// dashboardCommand returns gauze dashboard, which shows in a browser what gauze does.
func dashboardCommand() *cobra.Command {
	var listen, at string
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show running servers and what gauze healed, in a browser",
		Long: "Serve a dashboard on this machine that shows wrapped servers, what was healed and why,\n" +
			"tasks, and your clients' configuration. The printed address contains a one-time code\n" +
			"that logs in one browser. Other machines cannot connect. With --at, print a new address\n" +
			"for a dashboard that is already running, such as the one in gauze serve.",
		Example: "gauze dashboard\ngauze dashboard --listen 127.0.0.1:0\ngauze dashboard --at http://" + dashboardAddress + "/",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if at != "" {
				return printNewAddress(cmd, at)
			}
			listener, err := listenDashboard(listen)
			if err != nil {
				return err
			}
			return serveDashboard(cmd, listener)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "loopback `address` to listen on (default: "+dashboardAddress+", or any free port if that is in use)")
	cmd.Flags().StringVar(&at, "at", "", "print a new address for the dashboard that is running at this `URL`, and exit")
	cmd.MarkFlagsMutuallyExclusive("listen", "at")
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
	if err != nil || !launch.IsLoopback(host) {
		return nil, fmt.Errorf("invalid --listen %q: must be a loopback address and a port, such as %s", listen, dashboardAddress)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; use port 0 for any free port", listen, errors.Unwrap(err))
	}
	return l, nil
}

// serveDashboard serves until a signal.
func serveDashboard(cmd *cobra.Command, listener net.Listener) error {
	defer listener.Close()
	site, err := beginSite("", listener.Addr())
	if err != nil {
		return err
	}
	defer site.finish()
	door, end, err := site.open(dashboard.Options{})
	if err != nil {
		return err
	}
	defer end()
	site.print(cmd)
	fmt.Fprintln(cmd.ErrOrStderr(), "gauze: press Ctrl-C to stop the dashboard")
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

// site is where a dashboard is served, and what gives access to it.
type site struct {
	url string // what everybody may know
	run string // the file that names this run of the dashboard, while it runs
	in  dashboard.Entrance
}

// beginSite returns a dashboard of this user below a path, which begins to run.
func beginSite(path string, addr net.Addr) (*site, error) {
	file, err := runFile(addr)
	if err == nil {
		os.Remove(file) // of a process that was killed
		err = createToken(file)
	}
	if err != nil {
		return nil, err
	}
	return newSite(path, addr)
}

// newSite returns the dashboard of this user that runs below a path.
func newSite(path string, addr net.Addr) (*site, error) {
	token, err := dashboardToken()
	if err != nil {
		return nil, err
	}
	s := &site{url: "http://" + addr.String() + path + "/"}
	if s.run, err = runFile(addr); err != nil {
		return nil, err
	}
	run, err := readTokens(s.run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no dashboard that uses this state directory is running at %s\nnext: start one: gauze dashboard", s.url)
	}
	if err != nil {
		return nil, err
	}
	s.in = dashboard.Entrance{Addr: addr, Path: path, Codes: dashboard.NewCodes(token, addr.String(), run[0]), Token: token, Again: "gauze dashboard --at " + s.url}
	return s, nil
}

// finish notes that the dashboard no longer runs.
func (s *site) finish() { os.Remove(s.run) }

// runFile returns the file that names the run of the dashboard at an address.
func runFile(addr net.Addr) (string, error) {
	dir, err := backup.StateDir()
	return filepath.Join(dir, "dashboards", strings.ReplaceAll(addr.String(), ":", "-")), err
}

// address returns a new address, which logs in one browser.
func (s *site) address() string { return s.url + "#code=" + s.in.Codes.New() }

// print prints a new address.
func (s *site) print(cmd *cobra.Command) {
	fmt.Fprintln(cmd.OutOrStdout(), s.address())
	fmt.Fprintf(cmd.ErrOrStderr(), "gauze: open this address in a browser on this machine within %.0f minutes; it works only once\n", dashboard.CodeLifetime.Minutes())
}

// open returns a dashboard of this user's state, with its guard.
func (s *site) open(o dashboard.Options) (door http.Handler, end func(), err error) {
	dir, err := backup.StateDir()
	if err != nil {
		return nil, nil, err
	}
	o.Dir, o.Version, o.Prefix = dir, versionText(), s.in.Path+dashboard.SecretPath()
	finish := addWork(&o)
	d, err := dashboard.New(o)
	if err != nil {
		return nil, nil, err
	}
	return dashboard.NewDoor(d, s.in), func() { d.Close(); finish() }, nil
}

// printNewAddress prints a new address of the dashboard that is running at a URL. The dashboard is not
// asked: it recognizes the code, and a different program that listens there learns nothing from it.
func printNewAddress(cmd *cobra.Command, at string) error {
	u, err := url.Parse(at)
	invalid := fmt.Errorf("invalid --at %q: must be the URL of a dashboard on this machine, such as http://%s/", at, dashboardAddress)
	if err != nil || u.Scheme != "http" {
		return invalid
	}
	addr, err := netip.ParseAddrPort(u.Host)
	if err != nil || !addr.Addr().IsLoopback() {
		return invalid
	}
	s, err := newSite(strings.TrimSuffix(u.Path, "/"), net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return err
	}
	s.print(cmd)
	return nil
}

// dashboardToken returns the token of the dashboard. It is not one of gauze serve: an MCP client may
// do less than the user.
func dashboardToken() (string, error) {
	t, err := keptTokens("dashboard-token")
	if err != nil {
		return "", fmt.Errorf("the dashboard has no token: %w", err)
	}
	return t.all[0], nil
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
	if f.noDashboard || !launch.IsLoopback(host) {
		return nothing, nothing
	}
	site, err := beginSite(gateway.DashboardPath, addr)
	if err != nil {
		return func() { fmt.Fprintln(os.Stderr, "gauze: the dashboard is not available:", err) }, nothing
	}
	lazy := &lazyDashboard{open: func() (http.Handler, func(), error) { return site.open(dashboard.Options{}) }}
	front.Dashboard = lazy
	return func() {
		// A code is shown on a terminal only: stderr of a service is often a log.
		if terminal.Is(os.Stderr) {
			fmt.Fprintf(os.Stderr, "gauze: dashboard at %s (this link works only once; for a new one, run: %s)\n", site.address(), site.in.Again)
			return
		}
		fmt.Fprintf(os.Stderr, "gauze: dashboard at %s; to log in, run: %s\n", site.url, site.in.Again)
	}, func() { lazy.close(); site.finish() }
}
