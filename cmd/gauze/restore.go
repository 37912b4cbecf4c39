package main

import (
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// restoreCommand returns gauze restore, which restores the entries in a lock file.
func restoreCommand() *cobra.Command {
	var f lockFlags
	var consent consentFlags
	var gauze string
	cmd := &cobra.Command{
		Use:   "restore [flags] [SERVER...]",
		Short: "Restore the entries that gauze lock recorded",
		Long: "Restore entries that are missing or have changed since gauze lock was last run. Existing\n" +
			"values of variables and headers are kept; missing ones become references, because a lock\n" +
			"file does not contain values. The lock file determines what clients run, so you must\n" +
			"review the diff: --yes does not cover it.",
		Example: "gauze restore --dry-run\ngauze restore github",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		choice := fleet.Choice{Names: names, Clients: f.clients}
		if err := consent.check(); err != nil {
			return err
		}
		lock, _, err := f.read(false)
		if err != nil {
			return err
		}
		if lock, err = lock.Only(choice); err != nil {
			return err
		}
		fl, err := fleetHere()
		if err != nil {
			return err
		}
		if len(lock.Servers) == 0 && len(names) > 0 {
			_, err := fl.Look().Choose(choice)
			return err
		}
		if err = setProgram(fl, gauze); err != nil {
			return err
		}
		return consent.settle(cmd, fl, func(fl *fleet.Fleet) (fleet.Plan, error) { return fl.Look().Restore(lock) }, false)
	}
	f.add(cmd)
	consent.add(cmd)
	gauzeFlag(cmd, &gauze)
	return cmd
}
