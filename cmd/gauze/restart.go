package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// oneServer requires the name of a server.
func oneServer(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("missing SERVER: gauze status shows the names of all wrapped servers")
	}
	return atMost(1)(cmd, args)
}

// restartCommand returns gauze restart, which replaces the process of a wrapped server.
func restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart SERVER",
		Short: "Restart a wrapped server, keeping its sessions",
		Long: "Replace the process of a wrapped server as soon as it has no calls in flight. The client\n" +
			"keeps its session, and calls sent in the meantime wait for the new process. If several\n" +
			"clients are running a server with this name, each one is restarted. gauze status shows\n" +
			"the names.",
		Example: "gauze restart notes",
		Args:    oneServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := backup.StateDir()
			if err != nil {
				return err
			}
			all, err := live.All(cmd.Context(), dir)
			if err != nil {
				return err
			}
			chosen, err := named(all, args[0])
			if err != nil {
				return err
			}
			return restartAll(cmd, dir, chosen)
		},
	}
}

// restartAll restarts the servers, which have the same name.
func restartAll(cmd *cobra.Command, dir string, chosen []live.Server) error {
	for _, s := range chosen {
		if s.Name != chosen[0].Name {
			return fmt.Errorf("several servers match: %q, %q; use the full name", chosen[0].Name, s.Name)
		}
	}
	failed := false
	for _, s := range chosen {
		if s.State == live.StateSilent {
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze restart: %s was not restarted: its gauze process (pid %d) is not responding\n", label(s), s.PID)
			failed = true
			continue
		}
		done := waiting(cmd, false, "calls to "+label(s)+" to finish")
		err := live.Restart(cmd.Context(), dir, s.ID)
		done()
		switch {
		case errors.Is(err, live.ErrGone):
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze restart: %s has exited\n", label(s))
			failed = true
		case err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze restart: %s: %s\n", label(s), redact.Passage(err.Error()))
			failed = true
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "Restarted %s.\n", label(s))
		}
	}
	if failed {
		return exitStatus(1)
	}
	return nil
}
