package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/shell"
)

// consentFlags are how somebody agrees to a change of files.
type consentFlags struct {
	dryRun  bool
	yes     bool
	consent string
}

func (f *consentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be changed")
	flags.BoolVarP(&f.yes, "yes", "y", false, "change without asking; what needs a look at the diff, such as files of a project, stays as it is")
	flags.StringVar(&f.consent, "consent", "", "change exactly what was shown with this hash, and nothing else")
}

func (f *consentFlags) check() error {
	if f.yes && f.consent != "" || f.dryRun && (f.yes || f.consent != "") {
		return errors.New("--dry-run, --yes and --consent: want one of them")
	}
	return nil
}

// settle shows a plan and makes it, if somebody agrees to it. named: what is
// asked for was named on the command line by whoever agrees.
func (f *consentFlags) settle(cmd *cobra.Command, fl *fleet.Fleet, plan fleet.Plan, named bool) error {
	out := cmd.OutOrStdout()
	p := paint(colourful(out))
	showSkipped(out, plan.Skipped, p)
	if plan.Empty() && plan.Pending() {
		fmt.Fprintln(out, "No file was changed.")
		return nil
	}
	if plan.Empty() {
		fmt.Fprintln(out, "Nothing to change.")
		return nil
	}
	rest := fleet.Plan{}
	if f.yes {
		plan, rest = plan.SplitByReview(named)
	}
	if !plan.Empty() {
		io.WriteString(out, showPatch(plan.Diff(), p))
	}
	switch {
	case f.dryRun:
		fmt.Fprintf(out, "\nNothing was changed. To make exactly this change:\n\n    %s\n", p.in("36", f.again(cmd, plan)))
		return nil
	case f.consent != "" && f.consent != plan.Consent():
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze %s: %v:\n\n    %s\n", cmd.Name(), fleet.ErrConsent, f.again(cmd, plan))
		return exitStatus(1)
	case f.yes || f.consent != "":
	case !asks(cmd):
		fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze %s: nothing was changed, because nobody could be asked. To make exactly this change:\n\n    %s\n", cmd.Name(), f.again(cmd, plan))
		return exitStatus(1)
	default:
		if !ask(cmd, fmt.Sprintf("\nMake this change to %s?", files(plan))) {
			fmt.Fprintln(out, "Nothing was changed.")
			return exitStatus(1)
		}
	}
	made, err := fl.Apply(plan, plan.Consent())
	showMade(out, fl, plan, made, p)
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze %s: %v\n", cmd.Name(), err)
		return exitStatus(1)
	}
	if !rest.Empty() {
		io.WriteString(out, "\n"+showPatch(rest.Diff(), p))
		fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze %s: %s left as before: --yes is not enough there, somebody has to have seen the diff. If you have:\n\n    %s\n",
			cmd.Name(), leftOver(rest), f.again(cmd, rest))
		return exitStatus(1)
	}
	return nil
}

func leftOver(p fleet.Plan) string {
	if len(p.Changes) == 1 {
		return plaintext.Clean(p.Changes[0].Path) + " is"
	}
	return fmt.Sprintf("%d files are", len(p.Changes))
}

func files(p fleet.Plan) string {
	if len(p.Changes) == 1 {
		return plaintext.Clean(p.Changes[0].Path)
	}
	return fmt.Sprintf("these %d files", len(p.Changes))
}

// again is the command line that makes exactly this plan. Values that may be
// secret are not repeated.
func (f *consentFlags) again(cmd *cobra.Command, plan fleet.Plan) string {
	line := cmd.CommandPath()
	hidden := false
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case slices.Contains([]string{"dry-run", "yes", "consent", "json"}, flag.Name):
		case flag.Value.Type() == "bool":
			line += " --" + flag.Name
		case slices.Contains([]string{"env", "header"}, flag.Name):
			hidden = true
		case flag.Value.Type() == "stringSlice":
			line += " --" + flag.Name + " " + shell.Here().Quote(strings.Trim(flag.Value.String(), "[]"))
		default:
			line += " --" + flag.Name + " " + shell.Here().Quote(flag.Value.String())
		}
	})
	words := ""
	for i, arg := range cmd.Flags().Args() {
		if i == cmd.ArgsLenAtDash() {
			words += " --"
		}
		words += " " + shell.Here().Quote(arg)
	}
	if all := line + words; hidden || redact.Text(all) != all {
		return "the same command, with --consent " + plan.Consent()
	}
	return plaintext.Clean(line + " --consent " + plan.Consent() + words)
}

// asks: there is somebody at a terminal who sees the diff and can answer.
func asks(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	out, sees := cmd.OutOrStdout().(*os.File)
	return ok && sees && term.IsTerminal(in.Fd()) && term.IsTerminal(out.Fd())
}

// askAbout returns how a person agrees to run a server of the project. They have
// to name it as CLIENT/NAME, because a name alone may be the project's choice,
// and they see all of it. At a terminal they are asked; elsewhere to have named
// it is enough, unless it would be sent variables of their environment or a
// server of their own has that name as well.
func askAbout(cmd *cobra.Command, named []string) func(*fleet.Server) error {
	agreed := map[string]bool{} // a server is asked about once
	return func(s *fleet.Server) error {
		if !slices.Contains(named, s.ID()) {
			return s.NotAgreed()
		}
		entry := s.Written().Fingerprint()
		if agreed[entry] {
			return nil
		}
		shown, err := s.Whole()
		if err != nil {
			return fmt.Errorf("it comes with the project, and %w", err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s comes with the project:\n\n  %s\n\n", plaintext.Clean(s.ID()), shown)
		switch {
		case asks(cmd):
			question := "Start it?"
			if s.Written().URL != "" {
				question = "Connect to it?"
			}
			if !ask(cmd, question) {
				return errors.New("it comes with the project, and you did not agree to run it")
			}
		case len(s.Sends()) > 0:
			return s.NotAgreed()
		case s.HasTwin():
			return errors.New("it comes with the project, and a server of yours has the same name: run this at a terminal, where gauze can ask which one you mean")
		}
		agreed[entry] = true
		return nil
	}
}

func ask(cmd *cobra.Command, question string) bool {
	fmt.Fprint(cmd.OutOrStdout(), question+" [y/N] ")
	line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func showSkipped(w io.Writer, skipped []fleet.Skip, p paint) {
	for _, s := range skipped {
		fmt.Fprintf(w, "%s %s stays as it is: %s\n", p.in("2", "–"), plaintext.Clean(s.Server), redact.Text(plaintext.Clean(s.Why)))
	}
	if len(skipped) > 0 {
		fmt.Fprintln(w)
	}
}

// showMade says what was written, what the clients need to notice it, and the
// way back.
func showMade(w io.Writer, fl *fleet.Fleet, plan fleet.Plan, made []backup.Entry, p paint) {
	if len(made) == 0 {
		return
	}
	fmt.Fprintln(w)
	var told []string
	for _, e := range made {
		fmt.Fprintf(w, "%s %s: %s\n", p.green("✓"), plaintext.Clean(fl.Tilde(e.Path)), plaintext.Clean(e.About))
	}
	for _, c := range plan.Changes {
		written := func(e backup.Entry) bool { return e.Path == c.Path }
		if slices.ContainsFunc(made, written) && c.Client.Reload != "" && !slices.Contains(told, c.Client.Name) {
			fmt.Fprintf(w, "  %s: %s\n", c.Client.Name, c.Client.Reload)
			told = append(told, c.Client.Name)
		}
	}
	fmt.Fprintf(w, "  To undo: gauze undo %s\n", made[len(made)-1].ID)
}

// showPatch colours a diff.
func showPatch(diff string, p paint) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			text = p.in("1", text)
		case strings.HasPrefix(line, "+"):
			text = p.green(text)
		case strings.HasPrefix(line, "-"):
			text = p.red(text)
		case strings.HasPrefix(line, "@@"):
			text = p.in("2", text)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}
