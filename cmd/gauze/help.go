package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// The groups of commands, in the order of the help.
var groups = []*cobra.Group{
	{ID: "check", Title: "Find and fix what is broken"},
	{ID: "wrap", Title: "Keep servers working"},
	{ID: "see", Title: "See what is happening"},
	{ID: "servers", Title: "Add, remove and log in to servers"},
	{ID: "trust", Title: "Detect changes"},
	{ID: "agents", Title: "Agents, models and tasks"},
	{ID: "gauze", Title: "Gauze itself"},
}

// first are the commands that most users need, in the order in which they need them.
var first = []string{"demo", "doctor", "wrap", "undo", "test", "login", "status", "logs"}

// grouped puts commands into a group.
func grouped(group string, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.GroupID = group
	}
	return commands
}

// rare hides all flags but these from --help; --help-all shows them.
func rare(flags *pflag.FlagSet, except ...string) {
	flags.VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Hidden || !slices.Contains(except, f.Name)
	})
	flags.Bool("help-all", false, "show all flags")
}

// preformatted reports whether a paragraph is indented, such as a file or a table: its lines are kept.
func preformatted(paragraph string) bool { return strings.HasPrefix(paragraph, "  ") }

// help prints what a command does, at most 80 columns wide.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	for paragraph := range strings.SplitSeq(cmp.Or(cmd.Long, cmd.Short+"."), "\n\n") {
		if !preformatted(paragraph) {
			paragraph = plaintext.Wrap(paragraph, "")
		}
		fmt.Fprintf(w, "%s\n\n", paragraph)
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", usageLine(cmd))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(w, "\nAliases:\n  %s\n", strings.Join(cmd.Aliases, ", "))
	}
	all, _ := cmd.Flags().GetBool("help-all")
	helpCommands(w, cmd, all)
	if cmd.Example != "" {
		fmt.Fprint(w, "\nExamples:\n")
		for line := range strings.Lines(cmd.Example) {
			fmt.Fprintf(w, "  %s\n", strings.TrimSpace(line))
		}
	}
	more := helpFlags(w, cmd.Flags(), all)
	switch {
	case !cmd.HasParent() && !all:
		fmt.Fprint(w, "\nTo see the state of your servers:\n  gauze\n\nTo see all commands:\n  gauze help --all\n")
		fallthrough
	case cmd.HasSubCommands():
		fmt.Fprintf(w, "\nFor more about a command:\n  %s COMMAND --help\n", cmd.CommandPath())
	case more:
		fmt.Fprintf(w, "\nTo see all flags:\n  %s --help-all\n", cmd.CommandPath())
	}
}

// helpCommands prints the commands below cmd: all in their groups, or of gauze itself the first ones.
func helpCommands(w io.Writer, cmd *cobra.Command, all bool) {
	line := func(sub *cobra.Command) { fmt.Fprintf(w, "  %-10s %s\n", sub.Name(), sub.Short) }
	if !cmd.HasParent() && !all {
		fmt.Fprint(w, "\nStart with these commands:\n")
		for _, name := range first {
			if sub, _, err := cmd.Find([]string{name}); err == nil {
				line(sub)
			}
		}
		return
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s:\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && sub.IsAvailableCommand() {
				line(sub)
			}
		}
	}
}

// usageLine names the flags before the arguments, where they belong.
func usageLine(cmd *cobra.Command) string {
	if cmd.HasSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	_, args, _ := strings.Cut(cmd.Use, " ")
	if !strings.Contains(args, "[flags]") {
		args = strings.TrimSpace("[flags] " + args)
	}
	return cmd.CommandPath() + " " + args
}

// helpFlags prints the flags and reports whether it left some out.
func helpFlags(w io.Writer, flags *pflag.FlagSet, all bool) (more bool) {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		switch {
		case !documented(f):
		case f.Hidden && !all:
			more = true
		default:
			form, usage := flagHelp(f)
			fmt.Fprintf(&b, "  %s\n%s\n", form, plaintext.Wrap(usage, "      "))
		}
	})
	if b.Len() > 0 {
		fmt.Fprintf(w, "\nFlags:\n%s", b.String())
	}
	return more
}

// flagHelp returns how a flag is written, and what it does.
func flagHelp(f *pflag.Flag) (form, usage string) {
	value, usage := pflag.UnquoteUsage(f)
	if !strings.Contains(value, "=") {
		value = strings.ToUpper(value)
	}
	if usage = strings.ReplaceAll(usage, "\n", " "); !strings.Contains(strings.ToLower(usage), "default") && !zero(f) {
		usage += " (default: " + f.DefValue + ")"
	}
	form = "--" + f.Name
	if f.Shorthand != "" {
		form = "-" + f.Shorthand + ", " + form
	}
	return strings.TrimSpace(form + " " + value), usage
}

// harnessFlag marks a flag whose format is for our own tests. No help shows it.
const harnessFlag = "harness"

// forHarness hides a flag from all help.
func forHarness(flags *pflag.FlagSet, name string) {
	flags.MarkHidden(name)
	flags.SetAnnotation(name, harnessFlag, nil)
}

// documented reports whether help and manual pages describe a flag. They do not describe those that
// only lead to help, gauze --version, for which there is a command, and those of our own tests.
func documented(f *pflag.Flag) bool {
	_, harness := f.Annotations[harnessFlag]
	printsVersion := f.Name == "version" && f.Value.Type() == "bool"
	return !harness && f.Name != "help" && f.Name != "help-all" && !printsVersion
}

// zero reports whether a flag's default is not worth showing.
func zero(f *pflag.Flag) bool {
	return slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue)
}

// usageError is an invalid command line. It ends gauze with status 2.
type usageError struct {
	error
	cmd *cobra.Command
}

func (e *usageError) Unwrap() error { return e.error }

// usage marks err as an invalid command line.
func usage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err, cmd}
}

// present prints a value as JSON, or for a person.
func present(cmd *cobra.Command, asJSON bool, value any, text func(terminal.Paint) string) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return plaintext.WriteJSON(out, value)
	}
	_, err := io.WriteString(out, text(terminal.PaintFor(out)))
	return err
}

// notFound returns the error about a name that is not known. It ends with the nearest name that is, or
// else with rest.
func notFound(what, name string, known []string, rest string) error {
	if near := plaintext.Nearest(name, known); len(near) > 0 {
		rest = fmt.Sprintf("; did you mean %q?", near[0])
	}
	return fmt.Errorf("%s %q%s", what, redact.Foreign(name), rest)
}

// invalid returns the error about a flag that has a wrong value. must says what is right.
func invalid(flag, value, must string) error {
	return fmt.Errorf("invalid --%s %q: %s", flag, redact.Foreign(value), must)
}

// mistyped adds the most similar flag to an error about an unknown flag.
func mistyped(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		err = fmt.Errorf("unknown flag --%s", unknown.GetSpecifiedName())
		if len(unknown.GetSpecifiedName()) == 1 {
			err = fmt.Errorf("unknown flag -%s", unknown.GetSpecifiedName())
		}
		if near := plaintext.Nearest(unknown.GetSpecifiedName(), names); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean --%s?", err, near[0])
		}
	}
	return usage(cmd, err)
}

// atMost returns an error for each argument after the first n.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("unexpected argument %q", redact.Quote(args[n]))
		}
		return nil
	}
}

// helpCommand returns gauze help, which does what --help does.
func helpCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about any command",
		Example: "gauze help wrap\ngauze help --all",
		GroupID: "gauze",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usage(cmd, err)
			}
			if err := unknownCommand(found, rest); err != nil {
				return err
			}
			if all && found.Flags().Lookup("help-all") != nil {
				found.Flags().Set("help-all", "true") // cannot fail
			}
			help(found, nil)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show all commands or, with COMMAND, all of its flags")
	return cmd
}

// otherWords are what other programs call a command, and what it is called here.
var otherWords = map[string]string{
	"install":     "gauze add, for a new server, or gauze wrap, for one that is already configured",
	"update":      "gauze upgrade",
	"self-update": "gauze upgrade",
	"fix":         "gauze doctor --fix",
	"heal":        "gauze doctor --fix",
}

// unknownCommand returns an error for a name that is not a command.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if meant := otherWords[args[0]]; meant != "" && !root.HasParent() {
		return usage(root, fmt.Errorf("unknown command %q; did you mean %s?", args[0], meant))
	}
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	return usage(root, notFound("unknown command", args[0], names, ""))
}
