package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// completeServers completes the names of configured servers, as NAME and CLIENT/NAME. It only reads
// files.
func completeServers(cmd *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	fl, err := fleetHere()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, s := range fl.Look().Servers {
		for _, name := range []string{s.Name, s.ID()} {
			if strings.HasPrefix(name, prefix) && !slices.Contains(names, name) && !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeClients completes a list of client ids that is separated by commas.
func completeClients(cmd *cobra.Command, _ []string, prefix string) (lists []string, _ cobra.ShellCompDirective) {
	before := prefix[:strings.LastIndexByte(prefix, ',')+1]
	for _, c := range clientconfig.Clients() {
		if list := before + c.ID; strings.HasPrefix(list, prefix) {
			lists = append(lists, list+"\t"+c.Name)
		}
	}
	if strings.HasPrefix(clientconfig.UpID, prefix) && cmd.Flags().Lookup("up") == nil {
		lists = append(lists, clientconfig.UpID+"\tgauze up")
	}
	if name := cmd.Name(); (name == "add" || name == "remove") && strings.HasPrefix(fleet.AllClients, prefix) {
		lists = append(lists, fleet.AllClients+"\tall clients in use")
	}
	return lists, cobra.ShellCompDirectiveNoFileComp
}
