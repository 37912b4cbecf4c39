package taskcli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// ConsentFlags are the flags that confirm a plan.
type ConsentFlags struct {
	dryRun bool
	yes    bool
	hash   string
}

// Add defines the flags.
func (f *ConsentFlags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the plan without starting anything")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation, unless part of the plan comes from a project")
	flags.StringVar(&f.hash, "consent", "", "run exactly the plan that was shown with this `hash`")
}

// Check returns an error if the flags contradict each other.
func (f *ConsentFlags) Check() error { return CheckConsent(f.dryRun, f.yes, f.hash) }

// CheckConsent returns an error if more than one of --dry-run, --yes and --consent is set.
func CheckConsent(dryRun, yes bool, hash string) error {
	set := slices.DeleteFunc([]bool{dryRun, yes, hash != ""}, func(set bool) bool { return !set })
	if len(set) > 1 {
		return errors.New("--dry-run, --yes and --consent cannot be combined")
	}
	return nil
}

// Given reports whether a flag is set.
func (f *ConsentFlags) Given() bool { return *f != ConsentFlags{} }

// Desk is where a person is shown a plan.
type Desk struct {
	Command string         // how the command is called
	Flags   *pflag.FlagSet // those of the command line
	Out     io.Writer      // receives what is asked for with --dry-run
	Err     io.Writer
	Seen    *trust.Memory
	Ask     func(text string) bool // shows a text that ends with a question on a terminal. It is nil if no one is at one.
}

// ErrNotConfirmed means that the plan must not run. What to do was said.
var ErrNotConfirmed = errors.New("the plan was not confirmed")

// Confirm reports whether the plan may run: if a person has seen exactly this plan, or the flags or the
// person say so now. about is empty, or the id of the task that it continues: an earlier answer about
// that task counts. What a person has seen is remembered. With --dry-run it only shows the plan;
// otherwise, the error is ErrNotConfirmed if the plan may not run.
func (f *ConsentFlags) Confirm(at Desk, r *Review, about string) (run bool, err error) {
	plan := r.Thing("")
	switch {
	case f.dryRun:
		_, err = fmt.Fprintf(at.Out, "%s\n\nNothing was started. To run exactly this plan:\n\n    %s\n", r.Whole(), at.repeat(plan))
		return false, err
	case f.hash == plan.Hash():
		at.Seen.Agreed(plan, r.About())
		return true, nil
	case f.hash == "" && (r.Typed || f.yes && !r.Project || at.Seen.Seen(plan) || about != "" && at.Seen.Seen(r.Thing(about))):
		return true, nil
	}
	if f.hash == "" && !f.yes && at.Ask != nil {
		if !at.Ask(r.Whole() + "\n\n" + r.Question()) {
			fmt.Fprintln(at.Err, "Nothing was started.")
			return false, ErrNotConfirmed
		}
		at.Seen.Agreed(plan, r.About())
		return true, nil
	}
	fmt.Fprint(at.Err, r.Whole()+"\n\n")
	switch {
	case f.hash != "":
		return false, at.refuse("this hash is for a different plan. To run exactly the plan above:", plan)
	case f.yes:
		return false, at.refuse("--yes does not cover this plan, because part of it comes from a project. Review it, then run:", plan)
	}
	return false, at.refuse("confirmation requires a terminal. To run exactly the plan above:", plan)
}

// refuse says why nothing was started, and which command runs exactly this plan.
func (at Desk) refuse(why string, plan trust.Thing) error {
	fmt.Fprintf(at.Err, "%s: nothing was started: %s\n\n    %s\n", at.Command, why, at.repeat(plan))
	return ErrNotConfirmed
}

func (at Desk) repeat(plan trust.Thing) string { return Repeat(at.Command, at.Flags, plan.Hash()) }

// Repeat returns the command line with a hash as --consent. It does not repeat values that may be
// secret.
func Repeat(command string, flags *pflag.FlagSet, hash string) string {
	line := command
	secret := false
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case slices.Contains([]string{"dry-run", "yes", "consent", "json"}, flag.Name):
		case flag.Value.Type() == "bool":
			line += " --" + flag.Name
		case slices.Contains([]string{"env", "header"}, flag.Name):
			secret = true
		case flag.Value.Type() == "stringArray":
			for _, value := range flag.Value.(pflag.SliceValue).GetSlice() {
				line += " --" + flag.Name + " " + shell.Here().Quote(value)
			}
		case flag.Value.Type() == "stringSlice":
			line += " --" + flag.Name + " " + shell.Here().Quote(strings.Trim(flag.Value.String(), "[]"))
		default:
			line += " --" + flag.Name + " " + shell.Here().Quote(flag.Value.String())
		}
	})
	words := ""
	for i, arg := range flags.Args() {
		if i == flags.ArgsLenAtDash() {
			words += " --"
		}
		words += " " + shell.Here().Quote(arg)
	}
	if all := line + words; secret || redact.Text(all) != all {
		return "the same command with --consent " + hash
	}
	return plaintext.Clean(line + " --consent " + hash + words)
}
