package main

import (
	"errors"
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/demo"
	"github.com/gauze-mcp/gauze/internal/modelconfig"
)

func demoCommand() *cobra.Command {
	var withModel bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch gauze heal a server that breaks",
		Long: "Break a built-in server and watch gauze recover it: the server is killed during a call,\n" +
			"is killed before it reads a call, hangs, is slow, and prints noise; a client makes\n" +
			"mistakes, which rules and a scripted model correct; a task is stopped and resumed. At the\n" +
			"end, gauze compares the responses with what the server really did. The exit status is\n" +
			"not 0 if they differ.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := demo.Options{Color: term.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == ""}
			if withModel {
				if err := useModel(&o); err != nil {
					return err
				}
			}
			return demo.Run(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().BoolVar(&withModel, "model", false, "ask your configured model (GAUZE_MODEL) instead of a scripted one")
	return cmd
}

// useModel lets the demo ask the user's model.
func useModel(o *demo.Options) error {
	config, ok, err := modelconfig.Load("")
	switch {
	case err != nil:
		return err
	case !ok:
		return errors.New("no model is configured. Set GAUZE_MODEL, such as openai:NAME, then check it:\n\n    gauze model check")
	}
	if o.Model, err = config.Open(); err != nil {
		return err
	}
	o.ModelTimeout = config.Timeout
	return nil
}
