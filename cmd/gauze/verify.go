package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// verifyFlags are the settings of gauze verify.
type verifyFlags struct {
	lockFlags
	json bool
}

// verifyCommand holds servers against the lock.
func verifyCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [flags] [SERVER...]",
		Short: "Compare servers with what gauze lock recorded",
		Long: "Try the servers again and tell every difference: changed tools, another version, another configuration, servers that are missing,\n" +
			"new or broken. Servers that come with the project are tried only if they are named as CLIENT/NAME.\n" +
			"Exit status: 0 if nothing is different, 1 if something is, 2 for a mistake in the command line.",
		Example: "gauze verify\ngauze verify --json",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	f.addTimeout(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "as JSON")
	return cmd
}

// kinds of drift, the gravest first, as people read them.
var kinds = []struct{ kind, title string }{
	{"tools", "Tools are not what they were"},
	{"config", "Configured otherwise"},
	{"version", "Another version"},
	{"missing", "Missing"},
	{"extra", "Not in the lock"},
	{"broken", "Does not work, or was not tried"},
}

func (f *verifyFlags) run(cmd *cobra.Command, names []string) error {
	choice := fleet.Choice{Names: names, Clients: f.clients}
	lock, _, err := f.read(false)
	if err != nil {
		return err
	}
	if lock, err = lock.Only(choice); err != nil {
		return err
	}
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	_, servers, err := chosen(fl, lock.Known(choice))
	if err != nil {
		return err
	}
	all, err := checked(cmd, fl, servers, fleet.CheckOptions{Timeout: f.timeout, Ask: askAbout(cmd, names)}, f.json)
	if err != nil {
		return err
	}
	drifts, uncompared := fl.Verify(lock, all), fl.Uncompared(lock)
	out := cmd.OutOrStdout()
	if f.json {
		_, err = out.Write(jsonLine(struct {
			Same       bool          `json:"same"`
			Drifts     []fleet.Drift `json:"drifts"`
			Uncompared string        `json:"uncompared,omitempty"` // why values were not compared
		}{len(drifts) == 0, append([]fleet.Drift{}, drifts...), uncompared}))
	} else {
		_, err = io.WriteString(out, showDrifts(drifts, len(lock.Servers), f.file, paint(colourful(out))))
		if uncompared != "" && err == nil {
			_, err = io.WriteString(out, fold(redact.Passage(uncompared))+"\n")
		}
	}
	if err == nil && len(drifts) > 0 {
		return exitStatus(1)
	}
	return err
}

func showDrifts(drifts []fleet.Drift, locked int, file string, p paint) string {
	if len(drifts) == 0 {
		return fmt.Sprintf("%s %s as noted in %s.\n", p.green("✓"), plural(locked, "server"), plaintext.Clean(file))
	}
	var b strings.Builder
	for _, k := range kinds {
		first := true
		for _, d := range drifts {
			if d.Kind != k.kind {
				continue
			}
			if first {
				fmt.Fprintf(&b, "%s %s\n", p.red("✗"), p.in("1", k.title))
				first = false
			}
			fmt.Fprintf(&b, "    %s: %s\n", plaintext.Clean(d.Client+"/"+d.Server), plaintext.Clean(d.What))
		}
	}
	b.WriteString("\nIf all this is meant: gauze lock; to bring entries back: gauze restore\n")
	return b.String()
}
