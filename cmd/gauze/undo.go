package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// undoFlags are the flags of gauze undo.
type undoFlags struct{ diff, force, list bool }

// undoCommand returns gauze undo, which reverts changes of files.
func undoCommand() *cobra.Command {
	f := &undoFlags{}
	cmd := &cobra.Command{
		Use:   "undo [ID...]",
		Short: "Undo changes that gauze made",
		Long: "Undo changes to files, in the given order, unless a file was modified after the change.\n" +
			"Without ID, list the changes and offer to undo the newest. An undo is itself a change\n" +
			"and can be undone.",
		Example: "gauze undo\ngauze undo --diff 17\ngauze undo 17",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show the diff of the change without undoing it")
	cmd.Flags().BoolVar(&f.force, "force", false, "restore the old content even if the file was modified after the change")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the changes without undoing any")
	return cmd
}

func (f *undoFlags) run(cmd *cobra.Command, args []string) error {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	p := terminal.PaintFor(out)
	changes, err := fl.Store.List()
	if err != nil {
		return err
	}
	if len(changes) == 0 && len(args) == 0 {
		_, err := io.WriteString(out, "Gauze has not changed any files yet.\n")
		return err
	}
	if len(args) > 0 && !f.list {
		return f.each(cmd, fl, args, p)
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
	if !interactive(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze undo: nothing was changed: confirmation requires a terminal. To undo the newest change:\n\n    gauze undo %s\n", newest)
		return exitStatus(1)
	}
	if !ask(cmd, fmt.Sprintf("\nUndo change %s%s?", newest, undoneWith(changes[0], changes))) {
		fmt.Fprintln(out, "Nothing was changed.")
		return exitStatus(1)
	}
	return f.restore(cmd, fl, newest)
}

// each undoes changes, or shows them, until one fails.
func (f *undoFlags) each(cmd *cobra.Command, fl *fleet.Fleet, ids []string, p terminal.Paint) error {
	for _, id := range ids {
		var err error
		if f.diff {
			err = f.showOne(cmd, fl, id, p)
		} else {
			err = f.restore(cmd, fl, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *undoFlags) showOne(cmd *cobra.Command, fl *fleet.Fleet, id string, p terminal.Paint) error {
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
		fmt.Fprintln(cmd.OutOrStdout(), restored(fl, e))
	}
	switch {
	case errors.Is(err, backup.ErrUnknown):
		return unknownChange(id, err)
	case errors.Is(err, backup.ErrSame):
		fmt.Fprintln(cmd.OutOrStdout(), "The file already has the content it had before this change.")
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

// restored says what an undo did to a file.
func restored(fl *fleet.Fleet, e backup.Entry) string {
	undone := plaintext.Clean(e.Undoes)
	was, _, _, err := fl.Store.Contents(e.Undoes)
	switch {
	case e.New == "":
		return fmt.Sprintf("Removed %s, which did not exist before change %s.", fl.Tilde(e.Path), undone)
	case err == nil && was.Old != e.New:
		return fmt.Sprintf("Undid change %s in %s, and kept what another program changed there since.", undone, fl.Tilde(e.Path))
	}
	return fmt.Sprintf("Restored %s to its content before change %s.", fl.Tilde(e.Path), undone)
}

func unknownChange(id string, err error) error {
	if errors.Is(err, backup.ErrUnknown) {
		return fmt.Errorf("unknown change %q; gauze undo --list shows all changes", redact.Quote(id))
	}
	return err
}

// undoneWith names the changes that are undone together with one.
func undoneWith(c backup.Entry, changes []backup.Entry) string {
	var others []string
	for _, other := range changes {
		if c.Group != "" && other.Group == c.Group && other.ID != c.ID {
			others = append(others, other.ID)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return " (together with " + strings.Join(others, ", ") + ")"
}

func showChanges(fl *fleet.Fleet, changes []backup.Entry, p terminal.Paint) string {
	var b strings.Builder
	const few = 20
	for _, c := range changes[:min(few, len(changes))] {
		fmt.Fprintf(&b, "%4s  %s  %s  %s%s\n", c.ID, p.Faint(c.Time.Local().Format("2006-01-02 15:04")), fl.Tilde(c.Path), plaintext.Clean(c.About), p.Faint(undoneWith(c, changes)))
	}
	if len(changes) > few {
		fmt.Fprintf(&b, "      and %d older ones\n", len(changes)-few)
	}
	return b.String()
}
