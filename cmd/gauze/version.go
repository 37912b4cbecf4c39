package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/installed"
)

// version, commit and date are set by the release build.
var (
	version = installed.Unstamped
	commit  string
	date    string
)

// thisBuild returns what is known about the build of this binary.
var thisBuild = sync.OnceValue(func() installed.Build {
	info, _ := debug.ReadBuildInfo()
	return installed.BuildOf(version, commit, date, info)
})

// versionText returns the version as servers and clients are told.
func versionText() string { return thisBuild().Version }

// versionCommand returns gauze version. Scripts read its first line.
func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and how gauze was installed",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			about := thisVersion()
			text := about.String()
			if asJSON {
				text = string(jsonLine(about))
			}
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// aboutVersion is what gauze version prints.
type aboutVersion struct {
	Version  string            `json:"version"`
	Commit   string            `json:"commit,omitempty"`
	Modified bool              `json:"modified,omitempty"` // the clone had changes that were not committed
	Date     string            `json:"date,omitempty"`
	Channel  installed.Channel `json:"channel"`
	Path     string            `json:"path"`
	Go       string            `json:"go"`
	System   string            `json:"system"`
}

// thisVersion describes this gauze. Where the system does not tell a program its path, as without /proc,
// the channel is unknown.
func thisVersion() aboutVersion {
	b := thisBuild()
	here, err := installed.Here(b)
	if err != nil {
		here = installed.Installation{Channel: "unknown", Path: err.Error()}
	}
	return aboutVersion{b.Version, b.Commit, b.Modified, b.Date, here.Channel, here.Path, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v aboutVersion) String() string {
	text := "gauze " + v.Version + "\n"
	if v.Commit != "" {
		changed := ""
		if v.Modified {
			changed = " with changes"
		}
		text += "commit:  " + v.Commit + changed + "\n"
	}
	if v.Date != "" {
		text += "date:    " + v.Date + "\n"
	}
	return text + fmt.Sprintf("channel: %s (%s)\ngo:      %s\nsystem:  %s\n", v.Channel, v.Path, v.Go, v.System)
}

func printVersion(cmd *cobra.Command) { fmt.Fprintln(cmd.OutOrStdout(), "gauze", versionText()) }
