package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/proxy"
)

// runFlags are the settings of one run.
//
// The command reaches for proxy and not for the public package: that one
// links the MCP SDK for its Transport, which would double the memory of a
// process people run dozens of.
type runFlags struct {
	proxy.Options
	tools          []string
	policy         string
	restartBackoff time.Duration
	restartLimit   int
	retryBudget    int
	noQuarantine   bool
	statusFile     string
	quiet          bool
}

func runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS...]",
		Short: "Run an MCP server over stdio and keep it alive",
		Long: "Run COMMAND, an MCP server that speaks on stdio, and speak for it on our own stdio. The client sees one\n" +
			"session that never breaks: the server is restarted when it dies, replaced when it hangs, its session is\n" +
			"restored, and calls are sent again only where that is provably safe.",
		Example: "gauze run -- npx -y @modelcontextprotocol/server-everything\n" +
			"gauze run --timeout 5m --tool render:timeout=20m -- uvx my-server\n" +
			"gauze run --tool get_page:replay=safe -- node server.js",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the command is the command's
	flags.DurationVar(&f.Timeout, "timeout", 60*time.Second, "how long a call may take without progress")
	flags.DurationVar(&f.MaxTime, "max-time", 10*time.Minute, "how long a call may take with progress")
	flags.DurationVar(&f.Patience, "patience", 30*time.Second, "how long a call waits for a server that is down")
	flags.DurationVar(&f.StartTimeout, "start-timeout", 0, "how long the first answer may take (default 10s; 60s for npx, uvx, docker)")
	flags.DurationVar(&f.ProbeInterval, "probe-interval", 15*time.Second, "how long a silent server is left alone")
	flags.DurationVar(&f.ProbeTimeout, "probe-timeout", 5*time.Second, "how long it may take to give a sign of life")
	flags.DurationVar(&f.HangGrace, "hang-grace", 10*time.Second, "how long a silent server may do nothing before it is replaced")
	flags.StringArrayVar(&f.tools, "tool", nil, "policy of one tool, NAME:replay=never|safe|idempotent,timeout=5m,max-in-flight=2 (repeatable)")
	flags.StringVar(&f.policy, "policy", "", "file with the policies of tools (YAML)")
	flags.IntVar(&f.Window, "window", 0, "calls with side effects in flight at once (default 4, 1 after a crash, slowly more)")
	flags.DurationVar(&f.restartBackoff, "restart-backoff", 200*time.Millisecond, "base of the wait between restarts; 0: none")
	flags.IntVar(&f.restartLimit, "restart-limit", 5, "restarts within a minute before we pause; 0: no limit")
	flags.IntVar(&f.retryBudget, "retry-budget", 256, "calls repeated in a burst; 0: no limit")
	flags.BoolVar(&f.noQuarantine, "no-quarantine", false, "send a call again even if the server died twice with it")
	flags.StringVar(&f.Spec.Dir, "cwd", "", "working directory of the server")
	flags.StringVar(&f.Name, "name", "", "name of the server in messages (default its command line)")
	flags.StringVar(&f.statusFile, "status-file", "", "write counters as JSON to this file at the end")
	flags.BoolVar(&f.quiet, "quiet", false, "do not say on stderr what was healed")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no server to run: name its command after two dashes, as in\n\n  gauze run -- npx -y @modelcontextprotocol/server-everything")
	}
	if args[0] == "" {
		return fmt.Errorf("the server's command is empty")
	}
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	o := f.Options
	o.Spec.Command, o.Spec.Args = args[0], args[1:]
	var err error
	if o.Tools, err = readPolicies(f.policy, f.tools); err != nil {
		return err
	}
	o.Restart.Backoff, o.Restart.Limit, o.RetryBudget = f.restartBackoff, f.restartLimit, f.retryBudget
	if f.restartBackoff == 0 {
		o.Restart.Backoff = -1
	}
	if f.restartLimit == 0 {
		o.Restart.Limit = -1
	}
	if f.retryBudget == 0 {
		o.RetryBudget = -1
	}
	if f.noQuarantine {
		o.Quarantine = -1
	}
	o.Stderr = serverLog(os.Stderr)
	o.Events = event.New(256)
	told := func() {}
	if !f.quiet {
		told = narrate(o.Events, os.Stderr)
	}
	if term.IsTerminal(os.Stdin.Fd()) && !f.quiet {
		fmt.Fprintln(os.Stderr, "gauze: waiting for an MCP client on stdin; this command belongs into a client's configuration (Ctrl-C ends it)")
	}
	session := proxy.New(o)
	err = serve(cmd.Context(), session)
	told()
	if f.statusFile != "" {
		if err := writeStatus(f.statusFile, session); err != nil {
			fmt.Fprintln(os.Stderr, "gauze:", err)
		}
	}
	return explained(err, os.Stderr)
}

// check refuses numbers that cannot be meant.
func (f *runFlags) check(flags *pflag.FlagSet) error {
	for _, name := range []string{"timeout", "max-time", "patience", "probe-interval", "probe-timeout", "hang-grace", "start-timeout"} {
		d, err := flags.GetDuration(name)
		if err == nil && d <= 0 && flags.Changed(name) {
			return fmt.Errorf("the flag --%s is %v: want a duration above zero, such as 30s or 5m", name, d)
		}
	}
	for _, name := range []string{"window", "restart-limit", "retry-budget"} {
		if n, err := flags.GetInt(name); err == nil && n < 0 {
			return fmt.Errorf("the flag --%s is %d: want a whole number from 0", name, n)
		}
	}
	if f.restartBackoff < 0 {
		return fmt.Errorf("the flag --restart-backoff is %v: want 0 or more", f.restartBackoff)
	}
	return nil
}

// serve runs the session on our stdio. The first signal stops it in order, the
// next one in a hurry.
func serve(ctx context.Context, session *proxy.Session) error {
	signal.Ignore(syscall.SIGPIPE) // a client that is gone must not keep us from cleaning up
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	go func() {
		for {
			select {
			case <-signals:
				session.Hurry()
				stop()
			case <-ctx.Done():
				return
			}
		}
	}()
	return session.Serve(ctx, os.Stdin, os.Stdout)
}
