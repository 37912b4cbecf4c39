package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/proxy"
)

// runFlags are the settings of one run.
//
// The command reaches for proxy and not for the public package: people run
// dozens of these, and nothing of the MCP SDK is to run in them.
type runFlags struct {
	serverFlags
	statusFile string
	quiet      bool
}

func runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS...]",
		Short: "Run an MCP server, or reach one by URL, and keep it alive over stdio",
		Long: "Run COMMAND, an MCP server that speaks on stdio, or reach the one at a URL, and speak for it on our own stdio.\n" +
			"The client sees one session that never breaks: the server is restarted when it dies, replaced when it hangs,\n" +
			"reached again when it was gone, its session is restored, and calls are sent again only where that is provably safe.",
		Example: "gauze run -- npx -y @modelcontextprotocol/server-everything\n" +
			"gauze run --timeout 5m --tool render:timeout=20m -- uvx my-server\n" +
			"gauze run --tool get_page:replay=safe -- node server.js\n" +
			"gauze run --url https://example.com/mcp --header-env Authorization=EXAMPLE_TOKEN",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.statusFile, "status-file", "", "write counters as JSON to this file at the end")
	flags.BoolVar(&f.quiet, "quiet", false, "do not say on stderr what was healed")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.options("run", cmd.Flags(), args)
	if err != nil {
		return err
	}
	o.Stderr = serverLog(os.Stderr)
	o.Events = event.New()
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
