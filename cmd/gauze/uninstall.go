package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
)

// uninstallFlags are the flags of gauze uninstall.
type uninstallFlags struct {
	consentFlags
	purge bool
}

// uninstallCommand returns gauze uninstall, which unwraps every server and says what to run next.
func uninstallCommand() *cobra.Command {
	f := &uninstallFlags{}
	cmd := &cobra.Command{
		Use:   "uninstall [flags]",
		Short: "Unwrap every server, and print the command that uninstalls gauze",
		Long: "Unwrap the servers of all clients and projects, so that they work without gauze, and print\n" +
			"the command that uninstalls gauze. gauze shows the diff first. What gauze stored on this\n" +
			"machine (history, tasks, file copies for undo, logins) is kept unless you pass --purge.\n" +
			"Run it before you delete a virtual environment with gauze in it: wrapped servers need its path.\n\n" +
			"Exit status: 0 if nothing needs gauze anymore, 1 if an entry still needs it.",
		Example: "gauze uninstall\ngauze uninstall --dry-run\ngauze uninstall --yes --purge",
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().BoolVar(&f.purge, "purge", false, "also log out of all servers and delete what gauze stored on this machine")
	f.consentFlags.add(cmd)
	return cmd
}

func (f *uninstallFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	here, err := installed.Here(thisBuild())
	if err != nil {
		return err
	}
	purge, err := f.purgeOf(fl, here)
	if err != nil {
		return err
	}
	if f.purge && f.onlyShows(cmd) {
		fmt.Fprint(cmd.OutOrStdout(), purge.String()+"\n")
	}
	var first *fleet.Plan
	err = f.settle(cmd, fl, func(fl *fleet.Fleet) (fleet.Plan, error) {
		plan, err := unwrapEverything(fl)
		if plan.Purge = purge.String(); first == nil {
			first = &plan
		}
		return plan, err
	}, true)
	switch {
	case err != nil:
		return err
	case f.purge && first.Empty() && f.consent != first.Consent() && (f.consent != "" || f.onlyShows(cmd)):
		return f.refuse(cmd, *first)
	case f.dryRun:
		return nil
	}
	if err := stillNeeded(cmd, fl); err != nil {
		return err
	}
	remains := remainsOf(fl, here)
	if f.purge {
		if remains, err = f.clear(cmd, purge, remains); err != nil {
			return err
		}
	}
	_, err = io.WriteString(cmd.OutOrStdout(), showUninstalled(fl, here, remains))
	return err
}

// onlyShows reports whether nothing can be confirmed, so that gauze only shows what it would do.
func (f *uninstallFlags) onlyShows(cmd *cobra.Command) bool {
	return f.dryRun || !f.yes && f.consent == "" && !interactive(cmd)
}

// refuse says that nothing was deleted, if there was nothing to unwrap, and how to confirm it.
func (f *uninstallFlags) refuse(cmd *cobra.Command, plan fleet.Plan) error {
	again := f.repeat(cmd, plan)
	switch {
	case f.dryRun:
		fmt.Fprintf(cmd.OutOrStdout(), "Nothing was deleted. To delete exactly this:\n\n    %s\n", again)
		return nil
	case f.consent != "":
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\ngauze uninstall: nothing was deleted: --consent does not match this. To delete exactly this:\n\n    %s\n", plan.Purge, again)
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze uninstall: nothing was deleted: confirmation requires a terminal. To delete exactly this:\n\n    %s\n", again)
	}
	return exitStatus(1)
}

// stillNeeded reports the entries that need gauze after the servers were unwrapped.
func stillNeeded(cmd *cobra.Command, fl *fleet.Fleet) error {
	left, _ := unwrapEverything(fl)
	if n := len(left.Skipped) + left.Servers(); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze uninstall: %s gauze, so do not uninstall it yet. To see why:\n\n    gauze unwrap --all --dry-run\n", stillNeed(n))
		return exitStatus(1)
	}
	var ids []string
	for _, s := range fl.Look().Servers {
		if id := movedBy(fl, s); id != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze uninstall: %s starts all servers through gauze, so do not uninstall it yet. To restore the entries as they were:\n\n    gauze undo %s\n", plaintext.Clean(s.ID()), id)
			return exitStatus(1)
		}
		if id := plaintext.Clean(shell.Here().Quote(s.ID())); s.RunsGauze() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if n := len(ids); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze uninstall: %s gauze: %s. Remove it first, then run gauze uninstall again:\n\n    gauze remove %s\n",
			stillNeed(n), strings.Join(ids, ", "), strings.Join(ids, " "))
		return exitStatus(1)
	}
	if path := installedService(fl); path != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze uninstall: the service %s starts gauze up, so do not uninstall gauze yet. To remove it:\n\n    gauze up --uninstall\n", fl.Tilde(path))
		return exitStatus(1)
	}
	return nil
}

// movedBy returns the change with which gauze wrap --up wrote the entry of gauze connect, or "".
func movedBy(fl *fleet.Fleet, s *fleet.Server) string {
	changes, _ := fl.Store.List() // without it, the entry can be removed
	for _, e := range changes {
		if s.Connects() && e.Path == s.File && e.Whole && e.Undoes == "" {
			return e.ID
		}
	}
	return ""
}

// unwrapEverything plans to unwrap the servers of all clients and of all projects that gauze changed.
func unwrapEverything(fl *fleet.Fleet) (fleet.Plan, error) {
	view := fl.LookEverywhere()
	return view.Unwrap(slices.DeleteFunc(slices.Clone(view.Servers), func(s *fleet.Server) bool { return !s.Unwraps() })), nil
}

// stillNeed returns a number of entries as the start of a sentence.
func stillNeed(n int) string {
	if n == 1 {
		return "1 entry still needs"
	}
	return fmt.Sprintf("%d entries still need", n)
}

// remnant is something that gauze leaves on this machine.
type remnant struct {
	path   string
	about  string
	purged bool // by --purge
	state  bool // the state directory, of which only what gauze makes is deleted
	above  int  // how many of the directories above it are deleted if they are empty
}

// remainsOf returns what gauze stored on this machine.
func remainsOf(fl *fleet.Fleet, here installed.Installation) (all []remnant) {
	add := func(r remnant) {
		if _, err := os.Lstat(r.path); err == nil {
			all = append(all, r)
		}
	}
	state := filepath.Dir(fl.Store.Dir)
	own := os.Getenv("GAUZE_STATE_DIR") == "" // what else is in a directory that the user chose is not known
	add(remnant{path: state, about: "history, tasks, file copies for undo, logins", purged: own && !isLink(state), state: true})
	if cache, err := os.UserCacheDir(); err == nil {
		add(remnant{path: filepath.Join(cache, "gauze", "registry"), about: "MCP registry responses", purged: true})
	}
	if !sameFile(fl.Home.Copy, here.Path) {
		add(remnant{path: fl.Home.Copy, about: "a copy of gauze", purged: true, above: 2})
	}
	return all
}

// purge is what --purge does.
type purge struct {
	store  *login.Store
	logins []login.Login
	files  []remnant
}

// purgeOf returns what --purge does; nothing if it is not set.
func (f *uninstallFlags) purgeOf(fl *fleet.Fleet, here installed.Installation) (p purge, err error) {
	if !f.purge {
		return p, nil
	}
	if p.store, err = logins(); err != nil {
		return p, err
	}
	p.logins, _ = p.store.All() // those that cannot be read are deleted with the directory
	p.files = slices.DeleteFunc(remainsOf(fl, here), func(r remnant) bool { return !r.purged })
	return p, nil
}

// String lists what is deleted. It is "" without --purge.
func (p purge) String() (text string) {
	if p.store == nil {
		return ""
	}
	if len(p.logins) > 0 {
		text = "gauze will log out of:\n\n"
		for _, l := range p.logins {
			text += fmt.Sprintf("    %s, %s\n", cmp.Or(redact.Quote(l.Resource), "an unknown server"), accountWords(l.Account))
		}
		text += "\n"
	}
	if len(p.files) == 0 {
		return text + "No files are left to delete.\n"
	}
	return text + "gauze will delete:\n\n" + showRemains(p.files)
}

// clear does what --purge does, after a confirmation, and returns what remains of all.
func (f *uninstallFlags) clear(cmd *cobra.Command, p purge, all []remnant) (remains []remnant, err error) {
	out := cmd.OutOrStdout()
	fmt.Fprint(out, "\n"+p.String()+"\n")
	if len(p.files)+len(p.logins) == 0 {
		return all, nil
	}
	if !f.yes && f.consent == "" && !ask(cmd, "Delete this? It cannot be undone.") {
		fmt.Fprintln(out, "Nothing was deleted.")
		return all, nil
	}
	if slices.ContainsFunc(p.logins, func(l login.Login) bool { return !new(logoutFlags).logOut(cmd, p.store, l) }) {
		return nil, exitStatus(1)
	}
	for _, r := range all {
		if !r.purged {
			continue
		}
		if err := r.remove(); err != nil {
			return nil, fmt.Errorf("cannot delete %s: %w", r.path, err)
		}
	}
	fmt.Fprintln(out, "Deleted.")
	return slices.DeleteFunc(all, func(r remnant) bool { return r.purged }), nil
}

func showRemains(all []remnant) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "    %s\n        %s\n", plaintext.Clean(r.path), r.about)
	}
	return b.String()
}

// showUninstalled says what remains, and what to run next.
func showUninstalled(fl *fleet.Fleet, here installed.Installation, remains []remnant) string {
	text := "\nNo server needs gauze anymore.\n"
	if len(remains) > 0 {
		text += "\nThese files remain on this machine:\n\n" + showRemains(remains)
		if slices.ContainsFunc(remains, func(r remnant) bool { return r.purged }) {
			text += "\nTo delete them:\n\n    gauze uninstall --purge\n"
		}
	}
	next := here.Uninstall()
	if slices.ContainsFunc(remains, func(r remnant) bool { return r.path == fl.Home.Copy }) {
		next = cmp.Or(next, installed.This().Delete(fl.Home.Copy))
	}
	if here.Channel == installed.Bundle {
		return text + "\nTo uninstall gauze, remove its extension in your client.\n"
	}
	if next == "" {
		return text + fmt.Sprintf("\nThere is nothing to uninstall: gauze is only in %s's cache.\n", here.Channel)
	}
	return text + "\nTo uninstall gauze:\n\n    " + next + "\n"
}
