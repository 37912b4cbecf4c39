package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/installed"
	"github.com/gauze-mcp/gauze/internal/workshop/upgrade"
)

// packageCommand returns the command that installs the package of a release on Linux, or "" after it has
// said that this gauze is up to date. An older release is refused unless the user chose it: a mirror may
// offer one that was signed long ago.
func (f *upgradeFlags) packageCommand(cmd *cobra.Command, channel string) (string, error) {
	found, err := releases().Find(cmd.Context(), f.version)
	if err != nil {
		return "", err
	}
	own := thisBuild().Version
	switch order := installed.Compare(found.Version, own); {
	case order == 0:
		fmt.Fprintf(cmd.OutOrStdout(), "gauze %s is up to date.\n", own)
		return "", nil
	case order < 0 && f.version == "":
		return "", outdated(found, own)
	}
	return found.PackageCommand(channel, f.version != "")
}

// outdated says that the latest release of an address is older than this gauze.
func outdated(found *upgrade.Release, own string) error {
	return fmt.Errorf("the latest release at %s is %s, but gauze %s is installed; nothing was changed\nnext: if the address is a mirror, it is out of date. "+
		"To install the older version: gauze upgrade --version %s", found.Address, found.Version, own, found.Version)
}
