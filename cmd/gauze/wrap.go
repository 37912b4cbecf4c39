package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/fleet"
)

// wrapFlags are the settings of gauze wrap and gauze unwrap.
type wrapFlags struct {
	consentFlags
	all     bool
	remote  bool
	clients []string
	gauze   string
}

// wrapCommand puts gauze run in front of servers in their clients' files.
func wrapCommand() *cobra.Command {
	f := &wrapFlags{}
	cmd := &cobra.Command{
		Use:   "wrap [flags] SERVER...",
		Short: "Put gauze run in front of servers in clients' configurations",
		Long: "Change the entries of servers so that their clients start them through gauze run. SERVER is a name, or CLIENT/NAME; --all means\n" +
			"every server of every client. The diff is shown first; gauze unwrap gives back every byte. Servers behind a URL stay as they\n" +
			"are unless --remote is given: their client may hold a login for them.",
		Example: "gauze wrap --all\ngauze wrap github cursor/notes\ngauze wrap --all --client codex --dry-run",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args, func(v *fleet.View, s []*fleet.Server) fleet.Plan { return v.Wrap(s, f.remote) })
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.remote, "remote", false, "also servers behind a URL")
	gauzeFlag(cmd, &f.gauze)
	return cmd
}

// unwrapCommand takes it out again.
func unwrapCommand() *cobra.Command {
	f := &wrapFlags{}
	cmd := &cobra.Command{
		Use:     "unwrap [flags] SERVER...",
		Short:   "Remove gauze run again, and restore the files byte for byte",
		Long:    "Change the entries of wrapped servers back to what they were. SERVER is a name, or CLIENT/NAME; --all means every one.",
		Example: "gauze unwrap --all\ngauze unwrap cursor/notes",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args, func(v *fleet.View, servers []*fleet.Server) fleet.Plan {
				if f.all { // those that are wrapped, that is
					servers = slices.DeleteFunc(servers, func(s *fleet.Server) bool { return !s.Wrapped })
				}
				return v.Unwrap(servers)
			})
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *wrapFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.all, "all", false, "all servers of all clients")
	clientFlag(cmd, &f.clients)
	f.consentFlags.add(cmd)
}

func (f *wrapFlags) run(cmd *cobra.Command, args []string, plan func(*fleet.View, []*fleet.Server) fleet.Plan) error {
	switch {
	case f.all && len(args) > 0:
		return errors.New("--all and names: want one of them")
	case !f.all && len(args) == 0:
		return errors.New("no server is named: want names as gauze list shows them, or --all")
	}
	if err := f.check(); err != nil {
		return err
	}
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	if cmd.Flags().Lookup("gauze") != nil {
		if fl.Gauze, err = ourProgram(f.gauze); err != nil {
			return err
		}
	}
	view, servers, err := chosen(fl, fleet.Choice{Names: args, Clients: f.clients, All: f.all})
	if err != nil {
		return err
	}
	return f.settle(cmd, fl, plan(view, servers), true)
}
