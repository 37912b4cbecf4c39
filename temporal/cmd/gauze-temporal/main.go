// Command gauze-temporal runs tasks on a Temporal cluster. gauze starts it for gauze worker and for
// gauze task with --temporal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/gauze-mcp/gauze/internal/redact"
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

// cluster is where Temporal is.
type cluster struct{ address, namespace, queue string }

func commands() *cobra.Command {
	root := &cobra.Command{
		Use: "gauze-temporal", Short: "Run tasks on a Temporal cluster", SilenceUsage: true, SilenceErrors: true,
		Long: "Run tasks on a Temporal cluster. gauze starts this program for gauze worker, and for gauze task\n" +
			"with --temporal. TEMPORAL_API_KEY, TEMPORAL_TLS and the other variables and the configuration\n" +
			"file of Temporal's own tools apply.",
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

// dial connects to the cluster.
func (c *cluster) dial() (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("the configuration of Temporal is invalid: %w", err)
	}
	if c.address != "" {
		options.HostPort = c.address
	}
	if c.namespace != "" {
		options.Namespace = c.namespace
	}
	options.Logger = quiet{}
	connected, err := client.Dial(options)
	if err != nil {
		return nil, fmt.Errorf("the Temporal server at %s cannot be reached: %w", redact.Quote(options.HostPort), err)
	}
	return connected, nil
}

// with calls do with a client.
func (c *cluster) with(do func(*flow.Client) error) error {
	connected, err := c.dial()
	if err != nil {
		return err
	}
	defer connected.Close()
	return do(&flow.Client{Temporal: connected, Queue: c.queue})
}

// quiet is a logger that reports only errors.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(message string, pairs ...any) {
	fmt.Fprintln(os.Stderr, "gauze:", redact.Passage(fmt.Sprint(append([]any{message}, pairs...)...)))
}

var _ log.Logger = quiet{}
