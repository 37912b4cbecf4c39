package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// explainCommand tells more about a fault than fits into an answer.
func explainCommand() *cobra.Command {
	var codes []string
	for _, e := range fault.All() {
		codes = append(codes, string(e.Code))
	}
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a fault: what it means, why it happens, what you can do",
		Long: "Every fault of Gauze has a code, such as outcome-unknown. This command says what the code means,\n" +
			"why it happens, what Gauze did about it and what you can do. Without a code it lists them all.",
		Example:   "  gauze explain\n  gauze explain outcome-unknown",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: codes,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				return listFaults(out)
			}
			return explainFault(out, args[0], colourful(out))
		},
	}
}

func listFaults(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %s\n", "CODE", "MEANING")
	for _, e := range fault.All() {
		fmt.Fprintf(&b, "%-24s %s\n", e.Code, e.Title)
	}
	b.WriteString("\nMore about one of them: gauze explain CODE\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func explainFault(w io.Writer, code string, colour bool) error {
	e, ok := fault.Lookup(code)
	if !ok {
		return unknownCode(code)
	}
	_, err := io.WriteString(w, e.Explain(colour))
	return err
}

func unknownCode(code string) error {
	near := fault.Nearest(code)
	if len(near) == 0 {
		return fmt.Errorf("there is no fault %q; `gauze explain` lists all codes", fault.Quote(code))
	}
	return fmt.Errorf("there is no fault %q; did you mean %s? `gauze explain` lists all codes", fault.Quote(code), strings.Join(near, " or "))
}

// colourful is whether w is a terminal whose owner did not ask for plain text (no-color.org).
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(f.Fd())
}
