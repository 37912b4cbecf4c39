package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// explainCommand returns gauze explain, which says more about a code than fits into a message.
func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a code: what it means and what you can do",
		Long: "Every fault, cause and configuration problem that gauze reports has a code,\n" +
			"such as outcome-unknown or env_not_set. explain describes what the code means,\n" +
			"why it happens and what you can do. Without CODE, it lists all codes.",
		Example: "  gauze explain\n  gauze explain outcome-unknown",
		Args:    atMost(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) (codes []string, _ cobra.ShellCompDirective) {
			for _, e := range fleet.Catalogue() {
				codes = append(codes, string(e.Code))
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				return listCodes(out)
			}
			return explainCode(out, args[0], bool(terminal.PaintFor(out)))
		},
	}
}

// listCodes lists the catalogue: each code, and below it the title.
func listCodes(w io.Writer) error {
	var b strings.Builder
	kind := fault.Kind(-1)
	for _, e := range fleet.Catalogue() {
		if e.Kind != kind {
			kind = e.Kind
			fmt.Fprintf(&b, "\n%sS\n", strings.ToUpper(kind.String()))
		}
		fmt.Fprintf(&b, "  %s\n%s\n", e.Code, plaintext.Wrap(e.Title, "      "))
	}
	b.WriteString("\nFor more about one of them:\n  gauze explain CODE\n")
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func explainCode(w io.Writer, code string, colour bool) error {
	e, ok := fleet.Explain(code)
	if !ok {
		return unknownCode(redact.Foreign(code))
	}
	_, err := fmt.Fprintf(w, "%s\n  %s\n    %s%s\n", e.Explain(colour), terminal.Paint(colour).Bold("On the web"), explainAddress, e.Code)
	return err
}

// explainAddress is the page that has every code as an anchor. lab/site makes it.
const explainAddress = "https://gauze-mcp.github.io/gauze/explain.html#"

func unknownCode(code redact.Foreign) error {
	near := fleet.NearestCodes(string(code))
	if len(near) == 0 {
		return fmt.Errorf("unknown code %q; `gauze explain` lists all codes", code)
	}
	return fmt.Errorf("unknown code %q; did you mean %s?", code, strings.Join(near, " or "))
}
