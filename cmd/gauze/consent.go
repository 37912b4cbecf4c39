package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// consentFlags are the flags that confirm a change of files.
type consentFlags struct {
	dryRun  bool
	yes     bool
	consent string
}

func (f *consentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the diff without changing any files")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation, but still skip changes that you must review, such as changes to a project's files")
	flags.StringVar(&f.consent, "consent", "", "make exactly the change that was shown with this `hash`")
}

func (f *consentFlags) check() error { return taskcli.CheckConsent(f.dryRun, f.yes, f.consent) }

// given reports whether a flag is set.
func (f *consentFlags) given() bool { return *f != consentFlags{} }

// planner plans a change to the files as they are now.
type planner func(*fleet.Fleet) (fleet.Plan, error)

// fixed returns a planner for a plan that is not made again.
func fixed(plan fleet.Plan) planner {
	return func(*fleet.Fleet) (fleet.Plan, error) { return plan, nil }
}

// settle shows a plan and carries it out if the user confirms it. Set named if the user named the
// servers on the command line. What is written was planned while no other gauze process could change
// the files: several of them wait for each other.
func (f *consentFlags) settle(cmd *cobra.Command, fl *fleet.Fleet, plan planner, named bool) error {
	if f.yes || f.consent != "" {
		return f.carryOut(cmd, fl, plan, named)
	}
	now, err := plan(fl)
	for err == nil {
		if err := f.confirm(cmd, now); err != nil || f.dryRun || now.Empty() {
			return err
		}
		var made []backup.Entry
		agreed := now.Consent()
		failed := fl.Exclusively(func(fl *fleet.Fleet) error {
			if now, err = plan(fl); err == nil {
				made, err = fl.Apply(now, agreed)
			}
			return err
		})
		if !errors.Is(failed, fleet.ErrConsent) {
			return reportMade(cmd, fl, now, made, failed)
		}
		fmt.Fprint(cmd.OutOrStdout(), "\nThe files changed in the meantime, so gauze did not write to them. The diff is now:\n\n")
		err = nil
	}
	return err
}

// confirm shows a plan and asks the user to confirm it, or says how to.
func (f *consentFlags) confirm(cmd *cobra.Command, plan fleet.Plan) error {
	out := cmd.OutOrStdout()
	p := terminal.PaintFor(out)
	showPlan(out, plan, p)
	switch {
	case plan.Empty():
		showNothing(out, plan)
	case f.dryRun:
		fmt.Fprintf(out, "\nNothing was changed. To make exactly this change:\n\n    %s\n", p.Cyan(f.repeat(cmd, plan)))
	case !interactive(cmd):
		fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze %s: nothing was changed: confirmation requires a terminal. To make exactly this change:\n\n    %s\n", cmd.Name(), f.repeat(cmd, plan))
		return exitStatus(1)
	case !ask(cmd, fmt.Sprintf("\nMake this change to %s?", changedFiles(plan))):
		fmt.Fprintln(out, "Nothing was changed.")
		return exitStatus(1)
	}
	return nil
}

// carryOut makes the change that --yes or --consent confirms, and then shows it: nothing is printed
// while other gauze processes wait.
func (f *consentFlags) carryOut(cmd *cobra.Command, fl *fleet.Fleet, plan planner, named bool) error {
	var got outcome
	var err error
	locked := fl.Exclusively(func(fl *fleet.Fleet) error {
		got, err = f.attempt(fl, plan, named)
		return nil
	})
	switch {
	case err != nil:
		return err
	case locked != nil:
		got.err = locked
	}
	out := cmd.OutOrStdout()
	p := terminal.PaintFor(out)
	showPlan(out, got.plan, p)
	switch {
	case errors.Is(got.err, fleet.ErrConsent):
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze %s: nothing was changed: --consent does not match this change. Review the diff above, then run:\n\n    %s\n", cmd.Name(), f.repeat(cmd, got.plan))
		return exitStatus(1)
	case got.plan.Empty() && got.rest.Empty() && got.err == nil:
		showNothing(out, got.plan)
	}
	if err := reportMade(cmd, fl, got.plan, got.made, got.err); err != nil || got.rest.Empty() {
		return err
	}
	io.WriteString(out, "\n"+showPatch(got.rest.Diff(), p)+showNotes(got.rest, p))
	fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze %s: %s not changed: --yes does not cover this change. Review the diff above, then run:\n\n    %s\n",
		cmd.Name(), notChanged(got.rest), f.repeat(cmd, got.rest))
	return exitStatus(1)
}

// outcome is a plan that was carried out.
type outcome struct {
	plan fleet.Plan
	rest fleet.Plan // what --yes does not cover
	made []backup.Entry
	err  error // why a file could not be written
}

// attempt plans and applies what the command line confirms. If a program that does not know our lock
// saved a file at the same moment, it plans again, because --yes also covers that.
func (f *consentFlags) attempt(fl *fleet.Fleet, plan planner, named bool) (got outcome, err error) {
	const maxAttempts = 5
	for range maxAttempts {
		now, err := plan(fl)
		if err != nil {
			return got, err
		}
		if f.yes {
			now, got.rest = now.SplitByReview(named)
		}
		got.plan.Skipped, got.plan.Purge = now.Skipped, now.Purge
		now.Changes = slices.DeleteFunc(now.Changes, func(c fleet.Change) bool { return wasMade(c, got.made) })
		if now.Empty() {
			got.err = nil // the other program made the change, or removed the entry
			break
		}
		made, err := fl.Apply(now, cmp.Or(f.consent, now.Consent()))
		got.made, got.err = append(got.made, made...), err
		again := f.yes && errors.Is(err, backup.ErrConflict)
		for _, c := range now.Changes {
			if !again || wasMade(c, made) {
				got.plan.Changes = append(got.plan.Changes, c)
			}
		}
		if !again {
			break
		}
	}
	return got, nil
}

func wasMade(c fleet.Change, made []backup.Entry) bool {
	return slices.ContainsFunc(made, func(e backup.Entry) bool { return e.Path == c.Path })
}

// reportMade shows which changes of a plan were made, and why others were not.
func reportMade(cmd *cobra.Command, fl *fleet.Fleet, plan fleet.Plan, made []backup.Entry, err error) error {
	out := cmd.OutOrStdout()
	fl.SawPlan(plan, made)
	showMade(out, fl, plan, made, terminal.PaintFor(out))
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze %s: %v\n", cmd.Name(), err)
		return exitStatus(1)
	}
	return nil
}

// showPlan shows what a plan leaves as it is, and the diff of what it changes.
func showPlan(w io.Writer, plan fleet.Plan, p terminal.Paint) {
	showSkipped(w, plan.Skipped, p)
	io.WriteString(w, showPatch(plan.Diff(), p)+showNotes(plan, p))
}

// showNothing says that a plan has no changes.
func showNothing(w io.Writer, plan fleet.Plan) {
	if plan.Pending() {
		fmt.Fprintln(w, "No file was changed.")
	} else {
		fmt.Fprintln(w, "Nothing to change.")
	}
}

// notChanged returns the files of a plan as the subject of a sentence.
func notChanged(p fleet.Plan) string {
	if len(p.Changes) == 1 {
		return plaintext.Clean(p.Changes[0].Path) + " was"
	}
	return fmt.Sprintf("%d files were", len(p.Changes))
}

func changedFiles(p fleet.Plan) string {
	if len(p.Changes) == 1 {
		return plaintext.Clean(p.Changes[0].Path)
	}
	return fmt.Sprintf("these %d files", len(p.Changes))
}

// repeat returns the command line that carries out exactly this plan. It does not repeat values that
// may be secret.
func (f *consentFlags) repeat(cmd *cobra.Command, plan fleet.Plan) string {
	return taskcli.Repeat(cmd.CommandPath(), cmd.Flags(), plan.Consent())
}

// interactive reports whether the user is at a terminal, where they see the diff on stdout and can
// confirm it.
func interactive(cmd *cobra.Command) bool {
	return terminal.Is(cmd.InOrStdin()) && terminal.Is(cmd.OutOrStdout())
}

// askerOf returns a function that shows a text that ends with a question, and asks it: on stderr, or
// else on stdout if no program reads it there. It is nil if the user would not see a question or could
// not answer it.
func askerOf(cmd *cobra.Command) func(text string) bool {
	in, out := cmd.InOrStdin(), cmd.ErrOrStderr()
	json := cmd.Flags().Lookup("json")
	if !terminal.Is(out) && (json == nil || !json.Changed) {
		out = cmd.OutOrStdout()
	}
	if !terminal.Is(in) || !terminal.Is(out) {
		return nil
	}
	return func(text string) bool { return terminal.Ask(in, out, text) }
}

// ask asks a question about what stdout shows.
func ask(cmd *cobra.Command, question string) bool {
	return terminal.Ask(cmd.InOrStdin(), cmd.OutOrStdout(), question)
}

// confirmProject returns a function that asks the user before a server of the project is run whose
// entry has not been seen as it is now. The user must name it as CLIENT/NAME, because the project may have
// chosen the name, and is shown the whole entry. Without a terminal, consent must be the hash of the
// entry. What the user agrees to is not asked again.
func confirmProject(cmd *cobra.Command, named []string, consent string) func(*fleet.Server) error {
	refused := map[trust.Thing]bool{} // ask once
	ask := askerOf(cmd)
	return func(s *fleet.Server) error {
		if !slices.Contains(named, s.ID()) || refused[s.Thing()] {
			return s.NotAgreed()
		}
		whole, err := s.Whole()
		if err != nil {
			return fmt.Errorf("it belongs to the project, and %w", err)
		}
		if consent == s.Thing().Hash() {
			s.Agreed()
			return nil
		}
		shown := fleet.Fold(plaintext.Visible(s.ID())+" belongs to the project:") + "\n\n  " + whole + "\n\n"
		if ask == nil {
			refused[s.Thing()] = true
			fmt.Fprintf(cmd.ErrOrStderr(), "%sTo allow gauze to use it as it is:\n\n    gauze test --consent %s %s\n\n", shown, s.Thing().Hash(), plaintext.Clean(shell.Here().Quote(s.ID())))
			return s.NotAgreed()
		}
		if !ask(shown + startQuestion(s.Written(), whole)) {
			refused[s.Thing()] = true
			return errors.New("it belongs to the project, and you did not allow it to run")
		}
		s.Agreed()
		return nil
	}
}

// startQuestion asks whether a server may be used, after its whole entry. It repeats the command or the
// URL, which the rest of the entry may have moved off the screen.
func startQuestion(s launch.Spec, whole string) string {
	verb, again := "Start", ""
	if s.URL != "" {
		verb = "Connect to"
	}
	if target := fleet.Target(s); target != whole {
		again = "  " + target + "\n\n"
	}
	return again + verb + " it? You will not be asked again unless its entry changes."
}

// confirmFix returns a function that asks the user before a fix is tried that uses a value of a
// project, unless they have seen it before. Without a terminal it is nil, which refuses.
func confirmFix(cmd *cobra.Command, seen *trust.Memory) func(*fleet.Server, fleet.Offer) bool {
	ask := askerOf(cmd)
	if ask == nil {
		return nil
	}
	var mu sync.Mutex // servers are tested at the same time
	return func(s *fleet.Server, o fleet.Offer) bool {
		mu.Lock()
		defer mu.Unlock()
		thing := o.Thing(s)
		if seen.Seen(thing) {
			return true
		}
		q, err := o.Question(s)
		if err != nil {
			return false
		}
		if !ask("\n" + terminal.Indent(q.Whole) + "\n\n" + terminal.Fold(q.Title)) {
			return false
		}
		seen.Agreed(thing, o.About)
		return true
	}
}

// fixQuestions are the questions about fixes of a server that is in no file. Nothing is remembered.
type fixQuestions struct {
	agree  func(*fleet.Server, fleet.Offer) bool // nil if the user cannot be asked
	heal   bool                                  // whether fixes are tried
	wanted atomic.Bool                           // there is a fix that the user would be asked about
}

// about returns the function that asks about the fixes of a server.
func (q *fixQuestions) about(spec launch.Spec) func(doctor.Fix, launch.Spec) bool {
	if q.agree == nil {
		return nil
	}
	return fleet.Agreeing(spec, func(o fleet.Offer) bool {
		q.wanted.Store(true)
		return q.heal && q.agree(nil, o)
	})
}

func showSkipped(w io.Writer, skipped []fleet.Skip, p terminal.Paint) {
	for _, s := range skipped {
		fmt.Fprintf(w, "%s %s not changed: %s\n", p.Faint("–"), plaintext.Clean(s.Server), redact.Text(plaintext.Clean(s.Why)))
	}
	if len(skipped) > 0 {
		fmt.Fprintln(w)
	}
}

// showNotes returns what the user must know about a plan beside its diff.
func showNotes(plan fleet.Plan, p terminal.Paint) (text string) {
	for _, note := range plan.Notes() {
		text += "\n" + plaintext.Wrap(p.Yellow("!")+" "+plaintext.Clean(note), "") + "\n"
	}
	return text
}

// showMade shows which files were written, what makes the clients reload them, and how to undo the
// change.
func showMade(w io.Writer, fl *fleet.Fleet, plan fleet.Plan, made []backup.Entry, p terminal.Paint) {
	if len(made) == 0 {
		return
	}
	fmt.Fprintln(w)
	var reloaded, logins []string
	for _, e := range made {
		fmt.Fprintf(w, "%s %s: %s\n", p.Green("✓"), fl.Tilde(e.Path), plaintext.Clean(e.About))
	}
	for _, c := range plan.Changes {
		if !slices.ContainsFunc(made, func(e backup.Entry) bool { return e.Path == c.Path }) {
			continue
		}
		logins = append(logins, c.Logins...)
		if c.Client.Reload != "" && !slices.Contains(reloaded, c.Client.Name) {
			fmt.Fprintf(w, "  %s: %s\n", c.Client.Name, c.Client.Reload)
			reloaded = append(reloaded, c.Client.Name)
		}
	}
	if len(logins) > 0 {
		fmt.Fprint(w, "\nIf a server requires a login, log in once:\n\n")
		for _, id := range logins {
			fmt.Fprintf(w, "    gauze login %s\n", plaintext.Clean(shell.Here().Quote(id)))
		}
	}
	if plan.Purge == "" {
		fmt.Fprintf(w, "\nTo undo:\n\n    gauze undo %s\n", made[len(made)-1].ID)
	}
}

// showPatch colors a diff.
func showPatch(diff string, p terminal.Paint) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			text = p.Bold(text)
		case strings.HasPrefix(line, "+"):
			text = p.Green(text)
		case strings.HasPrefix(line, "-"):
			text = p.Red(text)
		case strings.HasPrefix(line, "@@"):
			text = p.Faint(text)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}
