package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand returns gauze man, which writes the manual pages and the completion scripts of a
// release.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write manual pages and shell completions",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := manual(cmd.Root())
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(args[0], name), text, 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manual returns the manual pages and completion scripts by file name.
func manual(root *cobra.Command) (map[string][]byte, error) {
	files := map[string][]byte{"gauze.1": manPage(root)}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" && cmd.Name() != "completion" {
			files["gauze-"+cmd.Name()+".1"] = manPage(cmd)
			for _, sub := range cmd.Commands() {
				files["gauze-"+cmd.Name()+"-"+sub.Name()+".1"] = manPage(sub)
			}
		}
	}
	var bash, zsh, fish, powershell bytes.Buffer
	for _, err := range []error{root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true), root.GenPowerShellCompletionWithDesc(&powershell)} {
		if err != nil {
			return nil, err
		}
	}
	files["gauze.bash"], files["_gauze"], files["gauze.fish"], files["gauze.ps1"] = bash.Bytes(), zsh.Bytes(), fish.Bytes(), powershell.Bytes()
	return files, nil
}

// manPage returns the manual page of a command, in the man macros of roff.
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"gauze %s\"\n", strings.ToUpper(roff(name)), roff(versionText()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmp.Or(cmd.Short, "keep MCP servers working")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(usageLine(cmd)))
	b.WriteString(".SH DESCRIPTION\n")
	for paragraph := range strings.SplitSeq(cmp.Or(cmd.Long, cmd.Short+"."), "\n\n") {
		if !preformatted(paragraph) {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(strings.Join(strings.Fields(paragraph), " ")))
			continue
		}
		b.WriteString(".PP\n.nf\n")
		for line := range strings.SplitSeq(paragraph, "\n") {
			fmt.Fprintf(&b, "%s\n", roff(line))
		}
		b.WriteString(".fi\n")
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(roff(group.Title)))
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	var options bytes.Buffer
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if documented(f) {
			form, usage := flagHelp(f)
			fmt.Fprintf(&options, ".TP\n.B %s\n%s\n", roff(form), roff(usage))
		}
	})
	if options.Len() > 0 {
		fmt.Fprintf(&b, ".SH OPTIONS\n%s", options.String())
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(cmd.Example) {
			fmt.Fprintf(&b, "%s\n", roff(strings.TrimSpace(line)))
		}
		b.WriteString(".fi\n")
	}
	return b.Bytes()
}

// roff escapes a line of text.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
