package main

import (
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/demo"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch gauze heal a server that breaks",
		Long: "Drive the embedded faulty server through the wrap: killed in the middle of a call, killed before it read\n" +
			"one, hung, slow, noisy. At the end, what the callers were told is held against what the server did; the\n" +
			"exit status is not zero if a promise was broken.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			color := term.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == ""
			return demo.Run(cmd.Context(), cmd.OutOrStdout(), color)
		},
	}
}
