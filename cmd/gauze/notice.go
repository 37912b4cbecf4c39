package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
	"github.com/gauze-mcp/gauze/internal/workshop/upgrade"
)

// noticed are the commands after which a newer release is reported: those that the user reads. No other
// command connects to the release address.
var noticed = []string{"list", "status", "doctor", "history"}

// addNotice makes one of those commands report a newer release at its end, at most once a day.
func addNotice(cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil || !slices.Contains(noticed, cmd.Name()) {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		watch, ok := noticeOf(cmd)
		if !ok {
			return run(cmd, args)
		}
		check := watch.Begin()
		err := run(cmd, args)
		if newer := check.End(); newer != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze %s is available (installed: %s). To upgrade: gauze upgrade\n", newer, watch.Installed)
		}
		return err
	}
}

// noticeOf returns what checks for a newer release, and whether it may: not if a program reads the
// output, in CI, if the user switched it off, or if this gauze is not a signed release.
func noticeOf(cmd *cobra.Command) (upgrade.Watch, bool) {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON || !terminal.Is(cmd.ErrOrStderr()) {
		return upgrade.Watch{}, false
	}
	if os.Getenv("GAUZE_NO_UPDATE_NOTICE") != "" || os.Getenv("CI") != "" || version == installed.Unstamped || releaseKey == "" {
		return upgrade.Watch{}, false
	}
	state, err := backup.StateDir()
	if err != nil {
		return upgrade.Watch{}, false // the command itself says so, if it needs the directory
	}
	return upgrade.Watch{Releases: releases(), Installed: thisBuild().Version, File: filepath.Join(state, "latest-release.json"), Now: time.Now()}, true
}
