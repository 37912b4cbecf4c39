package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// runFlags are the flags of gauze run.
//
// The command uses package proxy and not the public API: people run dozens of these processes, and
// none of them should initialize the MCP SDK.
type runFlags struct {
	serverFlags
	statusFile string
	quiet      bool
	noJournal  bool
}

func runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS...]",
		Short: "Run an MCP server and keep it alive, over stdio",
		Long: "Run COMMAND, an MCP server on stdio, or connect to a remote server (--url), and keep it\n" +
			"available to the client on stdin and stdout. The client sees one session that never\n" +
			"breaks: gauze restarts a server that exits, replaces one that hangs, reconnects,\n" +
			"restores the session, and replays calls only when that is provably safe.",
		Example: "  gauze run -- npx -y @modelcontextprotocol/server-everything\n" +
			"  gauze run --timeout 5m --tool render:timeout=20m -- uvx my-server\n" +
			"  gauze run --tool get_page:replay=safe -- node server.js\n" +
			"  gauze run --url https://example.com/mcp --header-env Authorization=API_TOKEN",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.statusFile, "status-file", "", "write counters as JSON to this `file` on exit")
	flags.BoolVar(&f.quiet, "quiet", false, "do not report healed failures on stderr")
	journalFlag(flags, &f.noJournal)
	flags.StringArray("entry", nil, "original `FIELD=TEXT` of the client's entry, added by gauze wrap so that gauze unwrap can restore it (repeatable)")
	rare(flags, "url", "header-env", "name", "timeout", "repair", "tool")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.options("run", cmd.Flags(), args)
	if err != nil {
		return usage(cmd, err)
	}
	o.Stderr = serverLog(os.Stderr)
	o.Timing.FinishGrace, o.ReaderGone = -1, untilUnread
	o.Events = event.New()
	recorded := recordEvents(o.Events, f.noJournal)
	finish := func() fault.Code { return "" }
	if !f.quiet {
		finish = narrate(o.Events, os.Stderr)
	}
	if terminal.Is(os.Stdin) && !f.quiet {
		fmt.Fprintln(os.Stderr, "gauze: waiting for an MCP client on stdin. This command belongs in a client's configuration; press Ctrl-C to stop.")
	}
	exporter := newExporter(&o, "pipe")
	session := proxy.New(o)
	seen := observeSession(session, "run", recorded)
	hide := seen.announce()
	exporter.Watch(seen.source().Server)
	err = serve(cmd.Context(), session)
	exporter.Close(maxExportWait)
	hide()
	told := finish()
	lost := recorded.finish()
	if f.statusFile != "" {
		if err := writeStatus(f.statusFile, session, lost); err != nil {
			fmt.Fprintln(os.Stderr, "gauze:", err)
		}
	}
	return explained(err, told, os.Stderr)
}

// serve runs the session on our stdin and stdout. The first signal stops it gracefully; the second
// ends gauze, and the server with it, immediately.
func serve(ctx context.Context, session *proxy.Session) error {
	surviveReaders() // clean up even if the client is gone
	ctx, release := untilSignal(ctx, func() { os.Exit(int(interrupted)) })
	defer release()
	defer context.AfterFunc(ctx, session.Hurry)()
	return session.Serve(ctx, os.Stdin, os.Stdout)
}
