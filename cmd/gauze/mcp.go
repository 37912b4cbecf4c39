package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/agenttools"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/registry"
)

// mcpFlags are the settings of gauze mcp.
type mcpFlags struct {
	allowWrites bool
	online      bool
	project     string
}

// mcpCommand is Gauze as an MCP server, for agents.
func mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve gauze's own tools to agents, over MCP",
		Long: "Speak MCP on stdin and stdout, for an agent's client to start. Nothing is written, and nothing new is run, without the user's yes\n" +
			"to exactly what is shown: the client asks them, if it can. Where it cannot, the agent gets the command for the user to type;\n" +
			"with --allow-writes it may agree itself, by repeating its call with the token it was given.",
		Example: "gauze mcp\n" +
			"claude mcp add gauze -- gauze mcp",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.allowWrites, "allow-writes", false, "where the client cannot ask you, let the agent agree to diffs and commands in your place")
	flags.BoolVar(&f.online, "online", false, "let the agent's searches ask the public registry")
	flags.StringVar(&f.project, "project", "", "the project whose files are looked at, too (default the folder it is started in)")
	return cmd
}

func (f *mcpFlags) run(cmd *cobra.Command) error {
	all, err := f.fleet()
	if err != nil {
		return err
	}
	if term.IsTerminal(os.Stdin.Fd()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze mcp speaks MCP on stdin and stdout, and is meant to be started by an agent's client: put it into its configuration, as in\n\n  claude mcp add gauze -- gauze mcp")
	}
	spareMemory()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	all.Machine = doctor.ThisMachine().Until(ctx)
	return agenttools.Serve(ctx, os.Stdin, os.Stdout, agenttools.Options{Fleet: all, AllowWrites: f.allowWrites, Online: f.online})
}

// fleet is this user's, here.
func (f *mcpFlags) fleet() (*fleet.Fleet, error) {
	all, err := fleet.Here(versionText())
	if err != nil {
		return nil, err
	}
	if f.project != "" {
		if all.Home.Project, err = filepath.Abs(f.project); err != nil {
			return nil, err
		}
		if info, err := os.Stat(all.Home.Project); err != nil || !info.IsDir() {
			return nil, errors.New("the flag --project: there is no folder " + all.Home.Project)
		}
	}
	all.Registry = registry.Source{URL: os.Getenv("GAUZE_REGISTRY"), Online: f.online}
	if all.Gauze, err = ourProgram(""); err != nil {
		all.Gauze = "gauze" // by its name, wherever it will be
	}
	return all, nil
}
