package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// undoFlags are the settings of gauze undo.
type undoFlags struct{ diff, force, list bool }

// undoCommand takes changes back.
func undoCommand() *cobra.Command {
	f := &undoFlags{}
	cmd := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo a change that gauze made",
		Long: "Every change is kept with what was there before. Without an ID the changes are listed, and the newest is taken back if you say so;\n" +
			"with one, that change is taken back, unless the file was changed since. Taking back is a change, too, and can be taken back.",
		Example: "gauze undo\ngauze undo 17 --diff\ngauze undo 17",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show what the change did, and leave it")
	cmd.Flags().BoolVar(&f.force, "force", false, "put the older content back even if the file was changed since")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the changes, and leave them")
	return cmd
}

func (f *undoFlags) run(cmd *cobra.Command, args []string) error {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	p := paint(colourful(out))
	changes, err := fl.Store.List()
	if err != nil {
		return err
	}
	if len(changes) == 0 && len(args) == 0 {
		_, err := io.WriteString(out, "Gauze has changed no file yet.\n")
		return err
	}
	if len(args) == 1 && !f.list {
		if f.diff {
			return f.showOne(cmd, fl, args[0], p)
		}
		return f.restore(cmd, fl, args[0])
	}
	io.WriteString(out, showChanges(fl, changes, p))
	newest := changes[0].ID
	switch {
	case f.list:
		return nil
	case f.diff:
		return f.showOne(cmd, fl, newest, p)
	}
	if err := f.showOne(cmd, fl, newest, p); err != nil {
		return err
	}
	if !asks(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze undo: nothing was taken back, because nobody could be asked. To take the newest back:\n\n    gauze undo %s\n", newest)
		return exitStatus(1)
	}
	if !ask(cmd, fmt.Sprintf("\nTake change %s back?", newest)) {
		fmt.Fprintln(out, "Nothing was changed.")
		return exitStatus(1)
	}
	return f.restore(cmd, fl, newest)
}

func (f *undoFlags) showOne(cmd *cobra.Command, fl *fleet.Fleet, id string, p paint) error {
	group, err := fl.Group(id)
	if err != nil {
		return unknownChange(id, err)
	}
	for _, e := range group {
		entry, diff, err := fl.Made(e.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "\nchange %s, %s: %s\n%s", entry.ID, entry.Time.Local().Format("2 January 2006 15:04"), plaintext.Clean(entry.About), showPatch(diff, p))
	}
	return nil
}

func (f *undoFlags) restore(cmd *cobra.Command, fl *fleet.Fleet, id string) error {
	made, err := fl.Revert(id, f.force)
	for _, e := range made {
		fmt.Fprintf(cmd.OutOrStdout(), "Restored %s to its content before change %s.\n", plaintext.Clean(fl.Tilde(e.Path)), plaintext.Clean(e.Undoes))
	}
	switch {
	case errors.Is(err, backup.ErrUnknown):
		return unknownChange(id, err)
	case errors.Is(err, backup.ErrSame):
		fmt.Fprintln(cmd.OutOrStdout(), "The file is as it was before that change already.")
		return nil
	case err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze undo: %v\n", err)
		return exitStatus(1)
	}
	if len(made) > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "To undo this:\n\n    gauze undo %s\n", made[0].ID)
	}
	return nil
}

func unknownChange(id string, err error) error {
	if errors.Is(err, backup.ErrUnknown) {
		return fmt.Errorf("there is no change %q; gauze undo --list shows all", redact.Quote(id))
	}
	return err
}

func showChanges(fl *fleet.Fleet, changes []backup.Entry, p paint) string {
	var b strings.Builder
	const few = 20
	for _, c := range changes[:min(few, len(changes))] {
		fmt.Fprintf(&b, "%4s  %s  %s  %s\n", c.ID, p.in("2", c.Time.Local().Format("2006-01-02 15:04")), plaintext.Clean(fl.Tilde(c.Path)), plaintext.Clean(c.About))
	}
	if len(changes) > few {
		fmt.Fprintf(&b, "      and %d older ones\n", len(changes)-few)
	}
	return b.String()
}
