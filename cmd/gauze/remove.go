package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/fleet"
)

// removeCommand takes servers out of their clients' files.
func removeCommand() *cobra.Command {
	var consent consentFlags
	var clients []string
	cmd := &cobra.Command{
		Use:     "remove [flags] SERVER...",
		Short:   "Remove servers from clients",
		Long:    "Take the entries of servers out. SERVER is a name, which means it in every client that has one of that name, or CLIENT/NAME.\nThe diff is shown first, and gauze undo brings everything back.",
		Example: "gauze remove cursor/notes\ngauze remove notes --client cursor,codex",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("no server is named: gauze list shows what there is")
		}
		if err := consent.check(); err != nil {
			return err
		}
		fl, err := fleet.Here(versionText())
		if err != nil {
			return err
		}
		view, servers, err := chosen(fl, fleet.Choice{Names: args, Clients: clients})
		if err != nil {
			return err
		}
		return consent.settle(cmd, fl, view.Remove(servers), true)
	}
	clientFlag(cmd, &clients)
	consent.add(cmd)
	return cmd
}
