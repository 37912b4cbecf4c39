// Command gauze wraps MCP servers and keeps them working. Each command has a file of its own; this
// one has the table of commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/views/demo/breakable"
)

func main() {
	breakable.RunIfAsked() // gauze demo starts this binary as its server
	os.Exit(execute())
}

// execute runs the command line and returns the exit status: the command's own, or 2 for an error
// that it did not explain itself.
func execute() int {
	attach.DetachIfAsked()
	if args := os.Args[1:]; onTemporal(args) {
		return statusAfter("gauze task", runTemporal(args))
	}
	cmd, err := commands().ExecuteContextC(context.Background())
	finishRenewals()
	return statusAfter(cmd.CommandPath(), err)
}

// maxRenewalWait is how long gauze waits at its end for the response to a renewal of a login.
const maxRenewalWait = 3 * time.Second

// finishRenewals lets the renewal of a login that is in progress finish: its response may have the
// only copy of a token.
func finishRenewals() {
	ctx, cancel := context.WithTimeout(context.Background(), maxRenewalWait)
	defer cancel()
	login.Wait(ctx)
}

// statusAfter prints the error of a command, unless the command did, and returns the exit status.
func statusAfter(command string, err error) int {
	var status exitStatus
	var wrong *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status): // the command has explained it
		return int(status)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", command, err)
	if errors.As(err, &wrong) {
		if strings.Contains(err.Error(), "\n") { // it ends with examples
			fmt.Fprintln(os.Stderr)
		}
		fmt.Fprintf(os.Stderr, "Run '%s --help' for usage.\n", wrong.cmd.CommandPath())
	}
	return 2
}

// commands returns the root command with all others.
func commands() *cobra.Command {
	root := &cobra.Command{
		Use: "gauze",
		Long: "Gauze keeps MCP servers working: it restarts servers that crash or hang, repairs\n" +
			"invalid calls, and finds out why a server does not start.",
		SilenceUsage: true, SilenceErrors: true,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version, _ := cmd.Flags().GetBool("version"); version {
				printVersion(cmd)
				return nil
			}
			if all, _ := cmd.Flags().GetBool("help-all"); all {
				help(cmd, nil)
				return nil
			}
			return showState(cmd)
		},
	}
	// Not cobra's own: its templates make the linker keep every exported method.
	root.Flags().BoolP("version", "v", false, "print the version")
	root.Flags().Bool("json", false, "print the state of your servers as JSON")
	root.Flags().MarkHidden("json")
	root.Flags().Bool("help-all", false, "show all commands")
	root.AddGroup(groups...)
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(mistyped)
	root.SetHelpCommand(helpCommand())
	root.SetCompletionCommandGroupID("gauze")
	root.AddCommand(grouped("check", doctorCommand(), testCommand(), diagnoseCommand(), explainCommand(), repairCommand())...)
	root.AddCommand(grouped("wrap", wrapCommand(), unwrapCommand(), undoCommand(), runCommand(), serveCommand(), upCommand(), connectCommand(), restartCommand())...)
	root.AddCommand(grouped("see", statusCommand(), topCommand(), logsCommand(), historyCommand(), dashboardCommand(), tokensCommand())...)
	root.AddCommand(grouped("servers", listCommand(), searchCommand(), addCommand(), removeCommand(), loginCommand(), logoutCommand())...)
	root.AddCommand(grouped("trust", lockCommand(), verifyCommand(), restoreCommand())...)
	root.AddCommand(grouped("agents", mcpCommand(), modelCommand(), taskCommand(), workerCommand())...)
	root.AddCommand(grouped("gauze", demoCommand(), versionCommand(), upgradeCommand(), uninstallCommand())...)
	for _, cmd := range root.Commands() {
		prepare(cmd)
		addNotice(cmd)
	}
	root.AddCommand(manCommand())
	return root
}

// prepare turns cobra's errors about arguments into usage errors, and adds completions and
// --help-all.
func prepare(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		prepare(sub)
	}
	if strings.Contains(cmd.Use, "SERVER") && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completeServers
	}
	if cmd.Flags().Lookup("client") != nil {
		cmd.RegisterFlagCompletionFunc("client", completeClients) // fails only if it is done twice
	}
	if args := cmd.Args; args != nil {
		cmd.Args = func(cmd *cobra.Command, words []string) error { return usage(cmd, args(cmd, words)) }
	}
	run := cmd.RunE
	if run == nil || cmd.Flags().Lookup("help-all") == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if all, _ := cmd.Flags().GetBool("help-all"); all {
			help(cmd, nil)
			return nil
		}
		return run(cmd, words)
	}
}

// exitStatus is an error that was already explained; it only sets the exit status.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
