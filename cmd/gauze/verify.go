package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// verifyFlags are the flags of gauze verify.
type verifyFlags struct {
	lockFlags
	json bool
}

// verifyCommand returns gauze verify, which compares servers with a lock file.
func verifyCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [flags] [SERVER...]",
		Short: "Compare servers with what gauze lock recorded",
		Long: "Test the servers again and report every difference from the lock file: changed tools, a\n" +
			"different version or configuration, and servers that are missing, new or broken. Servers\n" +
			"that belong to the project are started only if you specify them as CLIENT/NAME.\n\n" +
			"Exit status: 0 if nothing differs, 1 if something does, 2 for invalid usage.",
		Example: "gauze verify\ngauze verify --json",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	f.addTimeout(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// kinds are the kinds of drift, most severe first, with their titles.
var kinds = []struct{ kind, title string }{
	{"tools", "Changed tools"},
	{"config", "Changed configuration"},
	{"version", "Different version"},
	{"missing", "Missing"},
	{"extra", "Not in the lock file"},
	{"broken", "Broken, or not tested"},
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
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	_, servers, err := chosen(fl, lock.Known(choice))
	if err != nil {
		return err
	}
	all, err := checked(cmd, fl, servers, fleet.CheckOptions{Timeout: f.timeout, Ask: confirmProject(cmd, names, ""), Logins: true}, f.json)
	if err != nil {
		return err
	}
	drifts, uncompared := fl.Verify(lock, all), fl.Uncompared(lock)
	err = present(cmd, f.json, struct {
		Same       bool          `json:"same"`
		Drifts     []fleet.Drift `json:"drifts"`
		Uncompared string        `json:"uncompared,omitempty"` // why values were not compared
	}{len(drifts) == 0, append([]fleet.Drift{}, drifts...), uncompared}, func(p terminal.Paint) string {
		text := showDrifts(drifts, len(lock.Servers), f.file, fl.Recorded(lock), p)
		if uncompared != "" {
			text += terminal.Fold(redact.Passage(uncompared)) + "\n"
		}
		return text
	})
	if err == nil && len(drifts) > 0 {
		return exitStatus(1)
	}
	return err
}

// showDrifts returns the differences and what to do. own is whether the user recorded the lock file on
// this machine: anyone else's could make clients run anything.
func showDrifts(drifts []fleet.Drift, locked int, file string, own bool, p terminal.Paint) string {
	if len(drifts) == 0 {
		return fmt.Sprintf("%s Compared %s with %s: no differences.\n", p.Green("✓"), plaintext.Count(locked, "server"), plaintext.Clean(file))
	}
	var b strings.Builder
	for _, k := range kinds {
		first := true
		for _, d := range drifts {
			if d.Kind != k.kind {
				continue
			}
			if first {
				fmt.Fprintf(&b, "%s %s\n", p.Red("✗"), p.Bold(k.title))
				first = false
			}
			fmt.Fprintf(&b, "    %s\n", terminal.FoldAfter(plaintext.Clean(d.Client+"/"+d.Server)+": "+plaintext.Clean(d.What), "\n      "))
		}
	}
	if own {
		b.WriteString("\nTo accept all these differences, or to restore the entries:\n\n    gauze lock\n    gauze restore\n")
	} else {
		b.WriteString("\n" + terminal.Fold("You did not record all of this lock file on this machine. If you trust its author, review what gauze restore would write; otherwise, record your own servers:") + "\n\n    gauze restore --dry-run\n    gauze lock\n")
	}
	return b.String()
}
