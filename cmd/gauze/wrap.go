package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// wrapFlags are the flags of gauze wrap and gauze unwrap.
type wrapFlags struct {
	consentFlags
	all     bool
	remote  bool
	asked   bool // whether to wrap remote servers
	up      bool // move servers to the file of gauze up
	clients []string
	gauze   string
}

// wrapCommand returns gauze wrap, which wraps servers in clients' files in gauze run.
func wrapCommand() *cobra.Command {
	f := &wrapFlags{}
	cmd := &cobra.Command{
		Use:   "wrap [flags] SERVER...",
		Short: "Wrap configured servers in gauze run",
		Long: "Edit server entries so that clients start the servers through gauze run. SERVER\n" +
			"is a name or CLIENT/NAME. gauze shows the diff first; gauze unwrap restores every byte.\n" +
			"Remote servers (configured by URL) are skipped unless you pass --remote or answer yes\n" +
			"when --all asks: gauze then logs in to them instead of the client. Log in once with\n" +
			"gauze login SERVER.\n\n" +
			"With --up, move the servers of all your clients to the file of gauze up instead, and\n" +
			"leave one entry in each client: gauze connect. gauze undo restores the files.",
		Example: "gauze wrap --all\ngauze wrap --up\ngauze wrap github cursor/notes\ngauze wrap --remote cursor/linear\ngauze wrap --all --client codex --dry-run",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.up {
				return f.gather(cmd, args)
			}
			return f.run(cmd, args, (*fleet.Fleet).Look, func(v *fleet.View, s []*fleet.Server) fleet.Plan { return f.plan(cmd, v, s) })
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.remote, "remote", false, "also wrap remote servers (those configured by URL)")
	cmd.Flags().BoolVar(&f.up, "up", false, "move all servers to the file of gauze up, and leave one entry in each client")
	gauzeFlag(cmd, &f.gauze)
	return cmd
}

// plan returns the plan of gauze wrap. At a terminal, --all asks once about the remote servers.
func (f *wrapFlags) plan(cmd *cobra.Command, v *fleet.View, servers []*fleet.Server) fleet.Plan {
	plan := v.Wrap(servers, f.remote)
	decided := f.remote || f.asked || f.given()
	if decided || !f.all || !interactive(cmd) {
		return plan
	}
	with := v.Wrap(servers, true)
	n := with.Servers() - plan.Servers()
	if n == 0 {
		return plan
	}
	f.asked = true
	if !ask(cmd, aboutRemote(n, "wrap")) {
		return plan
	}
	_ = cmd.Flags().Set("remote", "true") // the command to repeat says so
	return with
}

// aboutRemote asks whether to wrap or move remote servers as well.
func aboutRemote(n int, verb string) string {
	question := "1 server is remote: " + verb + " it as well? Its client's login"
	if n > 1 {
		question = fmt.Sprintf("%d servers are remote: %s them as well? Their clients' logins", n, verb)
	}
	return question + " will no longer be used; log in once with gauze login."
}

// unwrapCommand returns gauze unwrap, which reverts gauze wrap.
func unwrapCommand() *cobra.Command {
	f := &wrapFlags{}
	cmd := &cobra.Command{
		Use:   "unwrap [flags] SERVER...",
		Short: "Undo gauze wrap, and restore the files byte for byte",
		Long: "Restore the entries of wrapped servers. SERVER is a name or CLIENT/NAME. --all also\n" +
			"restores those that were wrapped in other projects on this machine.",
		Example: "gauze unwrap --all\ngauze unwrap cursor/notes",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			look := (*fleet.Fleet).Look
			if f.all {
				look = (*fleet.Fleet).LookEverywhere
			}
			return f.run(cmd, args, look, func(v *fleet.View, servers []*fleet.Server) fleet.Plan {
				if f.all { // all that are wrapped
					servers = slices.DeleteFunc(servers, func(s *fleet.Server) bool { return !s.Unwraps() })
				}
				return v.Unwrap(servers)
			})
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *wrapFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.all, "all", false, "all servers of all clients, or of the clients selected with --client")
	clientFlag(cmd, &f.clients)
	f.consentFlags.add(cmd)
}

// run plans with the servers that look finds, and settles the plan.
func (f *wrapFlags) run(cmd *cobra.Command, args []string,
	look func(*fleet.Fleet, ...*clientconfig.Client) *fleet.View,
	plan func(*fleet.View, []*fleet.Server) fleet.Plan,
) error {
	switch {
	case f.all && len(args) > 0:
		return usage(cmd, errors.New("--all cannot be combined with server names"))
	case !f.all && len(args) == 0:
		return usage(cmd, errors.New("missing SERVER: pass a name shown by gauze list, or --all"))
	}
	if err := f.check(); err != nil {
		return err
	}
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	if cmd.Flags().Lookup("gauze") != nil {
		if err = setProgram(fl, f.gauze); err != nil {
			return err
		}
	}
	clients, err := fleet.Clients(f.clients)
	if err != nil {
		return err
	}
	err = f.settle(cmd, fl, func(fl *fleet.Fleet) (fleet.Plan, error) {
		view := look(fl, clients...)
		servers, err := view.Choose(fleet.Choice{Names: args, Clients: f.clients, All: f.all})
		tellUp(fl, view, err)
		if err != nil {
			return fleet.Plan{}, err
		}
		if f.all { // of clients
			servers = slices.DeleteFunc(servers, func(s *fleet.Server) bool { return fleet.OfUp(s.Entry) })
		}
		return plan(view, servers), nil
	}, true)
	if err != nil || f.dryRun {
		return err
	}
	return renewCopy(cmd.OutOrStdout(), fl)
}
