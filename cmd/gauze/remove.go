package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// removeCommand returns gauze remove, which removes servers from clients' files.
func removeCommand() *cobra.Command {
	var consent consentFlags
	var clients []string
	cmd := &cobra.Command{
		Use:     "remove [flags] SERVER...",
		Short:   "Remove servers from clients",
		Long:    "Remove servers from client configuration files and from the file of gauze up. SERVER is\nCLIENT/NAME, gauze/NAME for gauze up, or just NAME to remove the server wherever it is.\ngauze shows the diff first; gauze undo restores the files.",
		Example: "gauze remove cursor/notes\ngauze remove notes --client cursor,codex\ngauze remove notes --client all",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, errors.New("missing SERVER: pass a name shown by gauze list"))
		}
		if err := consent.check(); err != nil {
			return err
		}
		fl, err := fleetHere()
		if err != nil {
			return err
		}
		return consent.settle(cmd, fl, func(fl *fleet.Fleet) (fleet.Plan, error) {
			if slices.Contains(clients, fleet.AllClients) {
				return removeEverywhere(fl, args)
			}
			view, servers, err := chosen(fl, fleet.Choice{Names: args, Clients: clients})
			if err != nil {
				return fleet.Plan{}, err
			}
			plan := view.Remove(servers)
			return plan, checkUpPlan(fl, plan)
		}, true)
	}
	clientFlag(cmd, &clients)
	consent.add(cmd)
	return cmd
}

// removeEverywhere plans to remove servers from all clients and from the file of gauze up.
func removeEverywhere(fl *fleet.Fleet, names []string) (fleet.Plan, error) {
	path, err := upFile("")
	if err != nil {
		return fleet.Plan{}, err
	}
	view, servers, err := chosenEverywhere(fl, path, names)
	if err != nil {
		return fleet.Plan{}, err
	}
	plan := view.Remove(servers)
	return plan, checkUpPlan(fl, plan)
}

// checkUpPlan returns what would be wrong with the file of gauze up after a plan, or nil.
func checkUpPlan(fl *fleet.Fleet, plan fleet.Plan) error {
	if fl.Up == nil {
		return nil
	}
	return fl.Up.Check(fl, plan)
}
