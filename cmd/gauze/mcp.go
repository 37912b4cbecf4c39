package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/agent/agenttools"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
)

// mcpFlags are the flags of gauze mcp.
type mcpFlags struct {
	allowWrites bool
	online      bool
	project     string
	tools       string
	model       adviserFlag
}

// mcpCommand returns gauze mcp, which serves gauze's tools to agents.
func mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve gauze's own tools to agents, over MCP",
		Long: "Serve MCP on stdin and stdout, for an agent's client. Before gauze writes a file or runs\n" +
			"a new command, the client asks the user to confirm the exact diff or command. If the\n" +
			"client cannot ask, the agent receives a command for the user to run. With\n" +
			"--allow-writes, the agent may confirm on the user's behalf, by repeating its call with\n" +
			"the token that it received.\n\n" +
			"By default, six tools are listed: list_servers, check_health, test_connection,\n" +
			"configure_server, heal_server and undo. --tools all lists all tools, but they take up more\n" +
			"of the agent's context.",
		Example: "gauze mcp\n" +
			"claude mcp add gauze -- gauze mcp\n" +
			"gauze mcp --tools all",
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.allowWrites, "allow-writes", false, "let the agent confirm diffs and commands on your behalf if the client cannot ask you")
	flags.BoolVar(&f.online, "online", false, "let the agent search the public registry")
	flags.StringVar(&f.project, "project", "", "`directory` of a project whose configuration files are also read (default: the working directory)")
	flags.StringVar(&f.tools, "tools", "default", "which tools to `list`: default or all")
	f.model.add(cmd, "judges failing servers and ranks possible causes")
	return cmd
}

func (f *mcpFlags) run(cmd *cobra.Command) error {
	if f.tools != "default" && f.tools != "all" {
		return fmt.Errorf("invalid --tools %q: must be default or all", f.tools)
	}
	all, err := f.fleet()
	if err != nil {
		return err
	}
	model, err := f.model.open(cmd)
	if err != nil {
		return err
	}
	if terminal.Is(os.Stdin) {
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze mcp serves MCP on stdin and stdout. Add it to your agent's client, for example:\n\n  claude mcp add gauze -- gauze mcp")
	}
	reduceMemory(busyWrap)
	surviveReaders()                                      // save tasks and stop servers even if the client is gone
	ctx, release := untilSignal(cmd.Context(), func() {}) // the end is limited: a second signal does not cut it off
	defer release()
	all.Machine = doctor.ThisMachine().Until(ctx)
	state, err := backup.StateDir()
	if err != nil {
		state = "" // without tasks
	}
	events := event.New()
	defer recordEvents(events, false).finish()
	return agenttools.Serve(ctx, os.Stdin, os.Stdout, agenttools.Options{Fleet: all, AllowWrites: f.allowWrites, Online: f.online, AllTools: f.tools == "all", Model: model, StateDir: state, Events: events})
}

// fleet returns the servers of this user and project.
func (f *mcpFlags) fleet() (*fleet.Fleet, error) {
	all, err := fleetHere()
	if err != nil {
		return nil, err
	}
	if f.project != "" {
		if all.Home.Project, err = filepath.Abs(f.project); err != nil {
			return nil, err
		}
		if info, err := os.Stat(all.Home.Project); err != nil || !info.IsDir() {
			return nil, errors.New("invalid --project: " + all.Home.Project + " is not a directory")
		}
	}
	all.Registry = registry.Source{URL: os.Getenv("GAUZE_REGISTRY"), Online: f.online}
	if err = setProgram(all, ""); err != nil {
		all.Gauze = "gauze" // found on the PATH
	}
	return all, nil
}
