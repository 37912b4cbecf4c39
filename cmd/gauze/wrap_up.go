package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// gather carries out gauze wrap --up: it moves the servers of clients to the file of gauze up.
func (f *wrapFlags) gather(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, errors.New("--up moves all servers, and cannot be combined with server names"))
	}
	if err := f.check(); err != nil {
		return err
	}
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	if err = setProgram(fl, f.gauze); err != nil {
		return err
	}
	clients, err := fleet.Clients(f.clients)
	if err != nil {
		return err
	}
	path, err := upFile("")
	if err != nil {
		return err
	}
	var last fleet.Plan
	err = f.settle(cmd, fl, func(fl *fleet.Fleet) (fleet.Plan, error) {
		var err error
		last, err = f.gathered(cmd, fl, fl.Look(clients...), path)
		return last, err
	}, true)
	if err != nil || f.dryRun {
		return err
	}
	upfile.ConfirmAdded(fl, last)
	return renewCopy(cmd.OutOrStdout(), fl)
}

// gathered returns the plan of gauze wrap --up. At a terminal, it asks once about the remote servers.
func (f *wrapFlags) gathered(cmd *cobra.Command, fl *fleet.Fleet, view *fleet.View, path string) (fleet.Plan, error) {
	plan, err := upfile.Gather(fl, view, path, f.remote)
	if err != nil || f.remote || f.asked || f.given() || !interactive(cmd) {
		return plan, err
	}
	remote := 0
	for _, s := range plan.Skipped {
		if strings.HasPrefix(s.Why, string(clientconfig.ErrRemote)) {
			remote++
		}
	}
	f.asked = true
	if remote == 0 || !ask(cmd, aboutRemote(remote, "move")) {
		return plan, nil
	}
	_ = cmd.Flags().Set("remote", "true") // the command to repeat says so
	return upfile.Gather(fl, view, path, true)
}

// chosenEverywhere is chosen for all clients and for the file of gauze up.
func chosenEverywhere(fl *fleet.Fleet, path string, names []string) (*fleet.View, []*fleet.Server, error) {
	view := fl.LookWith(upfile.Config(fl, path))
	servers, err := view.Choose(fleet.Choice{Names: names})
	return view, servers, err
}

// showApart says which servers of clients are not those of gauze up, if a client has gauze connect.
func showApart(fl *fleet.Fleet, view *fleet.View, p terminal.Paint) (text string) {
	path, err := upFile("")
	if err != nil || !view.Connected() {
		return ""
	}
	all, _ := upfile.Apart(fl, view, path) // an error in the file is one of the view's problems
	for _, d := range all {
		text += fmt.Sprintf("%s %s\n  next: %s\n", p.Yellow("!"), terminal.FoldAfter(d.What, "\n  "), p.Cyan(d.Next))
	}
	return text
}
