// Command gauze-temporal runs tasks on a Temporal cluster. gauze starts it for gauze worker and for
// gauze task with --temporal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/temporal/flow"
)

func main() {
	os.Exit(execute(os.Args[1:]))
}

// exitStatus is an error that was already explained; it only sets the exit status.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func execute(args []string) int {
	root := commands()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintln(os.Stderr, "gauze:", redact.Passage(err.Error()))
	return 2
}

func commands() *cobra.Command {
	root := &cobra.Command{
		Use: "gauze-temporal", Short: "Run tasks on a Temporal cluster", SilenceUsage: true, SilenceErrors: true,
		Long: "Run tasks on a Temporal cluster. gauze starts this program for gauze worker, and for gauze task\n" +
			"with --temporal. It uses TEMPORAL_API_KEY, TEMPORAL_TLS and the other environment variables, and\n" +
			"the configuration file, that Temporal's own tools use.",
	}
	at := &cluster{}
	root.PersistentFlags().StringVar(&at.address, "temporal", "", "`HOST:PORT` of the Temporal server (default: $TEMPORAL_ADDRESS)")
	root.PersistentFlags().StringVar(&at.namespace, "namespace", "", "Temporal `namespace` (default: $TEMPORAL_NAMESPACE, or default)")
	root.PersistentFlags().StringVar(&at.queue, "queue", flow.DefaultQueue, "task `queue` that tasks and workers share")
	tasks := &cobra.Command{Use: "task", Short: "Run and control tasks on the cluster"}
	tasks.AddCommand(runCommand(at), listCommand(at), showCommand(at), resumeCommand(at), decideCommand(at), stopCommand(at), watchCommand(at))
	root.AddCommand(tasks, workerCommand(at))
	return root
}
