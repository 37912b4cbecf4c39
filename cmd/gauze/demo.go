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
		Long: "Break a built-in server and watch gauze recover it: the server is killed during a call,\n" +
			"is killed before it reads a call, hangs, is slow, and prints noise. At the end, gauze\n" +
			"compares the responses with what the server really did. The exit status is not 0 if they\n" +
			"differ.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			color := term.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == ""
			return demo.Run(cmd.Context(), cmd.OutOrStdout(), color)
		},
	}
}
