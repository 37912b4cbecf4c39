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
		Long: "Break a server that is built into gauze and watch it recover: killed during a call,\n" +
			"killed before it reads a call, hung, slow, noisy. At the end, the responses are compared\n" +
			"with what the server really did. The exit status is not 0 if they do not match.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			color := term.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == ""
			return demo.Run(cmd.Context(), cmd.OutOrStdout(), color)
		},
	}
}
