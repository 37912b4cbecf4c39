// Command gauze wraps MCP servers so that they heal. One file per command;
// this one is the table.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

// version is set by the release build.
var version = "dev"

func main() {
	faultyserver.RunIfAsked() // the demo's server is this binary
	os.Exit(execute())
}

// execute runs the command line and returns the exit status.
func execute() int {
	root := &cobra.Command{
		Use:   "gauze",
		Short: "A thin wrap that heals MCP servers",
		Long: "Gauze keeps an MCP server alive behind one transparent command: put `gauze run --` in front of\n" +
			"the server's command in your client's configuration, and it survives crashes, hangs and noise.",
		SilenceUsage: true,
	}
	root.AddCommand(
		runCommand(), serveCommand(),
		listCommand(), doctorCommand(), wrapCommand(), unwrapCommand(), addCommand(), removeCommand(), undoCommand(),
		lockCommand(), verifyCommand(), restoreCommand(),
		testCommand(), diagnoseCommand(), repairCommand(), searchCommand(), explainCommand(), demoCommand(), versionCommand(),
	)
	status := quietly(root)
	err := fang.Execute(context.Background(), root,
		fang.WithVersion(versionText()), fang.WithoutManpage(), fang.WithErrorHandler(complain))
	if err != nil && !errors.As(err, status) {
		return 1
	}
	return int(*status)
}

// quietly keeps what was explained already from being shown as an error, which
// would first ask the terminal for its colours, and some never answer.
func quietly(root *cobra.Command) *exitStatus {
	status := new(exitStatus)
	for _, cmd := range root.Commands() {
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if err := run(cmd, args); !errors.As(err, status) {
					return err
				}
				return nil
			}
		}
	}
	return status
}

// complain shows an error, unless it was explained already.
func complain(w io.Writer, styles fang.Styles, err error) {
	var status exitStatus
	if !errors.As(err, &status) {
		fang.DefaultErrorHandler(w, styles, err)
	}
}

// exitStatus ends the program with a status and without further words.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "gauze", versionText()) },
	}
}

func versionText() string {
	if version != "dev" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}
