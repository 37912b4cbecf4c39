package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/temporal/flow"
)

func workerCommand(at *cluster) *cobra.Command {
	var tasks int
	var model string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the tasks of a Temporal cluster on this machine",
		Long: "Run the tasks of a Temporal cluster on this machine until interrupted. Each task has\n" +
			"its own server processes here. A client that may start workflows in the namespace can run any\n" +
			"command as the worker's user.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tasks < 1 {
				return fmt.Errorf("invalid --tasks %d: must be at least 1", tasks)
			}
			chosen, err := openModel(model)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			c, err := at.dial(flow.KeepReporting(ctx))
			if err != nil {
				return err
			}
			defer c.Close()
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze: waiting for tasks in queue %s\n", redact.Quote(at.queue))
			return at.explained(flow.Serve(ctx, c, at.queue, tasks, &flow.Activities{Model: chosen, Configured: configured, Wrap: proxy.Options{Timing: proxy.Timing{Timeout: timeout}}}))
		},
	}
	cmd.Flags().IntVar(&tasks, "tasks", flow.DefaultTasks, "maximum `number` of concurrent tasks")
	cmd.Flags().StringVar(&model, "model", "", "`PROVIDER:NAME` of a model that chooses the calls for tasks without steps (default: $GAUZE_MODEL, or model.yaml)")
	cmd.Flags().DurationVar(&timeout, "timeout", taskrun.CallTimeout, "maximum `time` without progress for a call")
	return cmd
}

// openModel returns the model that the user of this worker configured, or nil.
func openModel(name string) (llm.Model, error) {
	c, ok, err := modelconfig.Load(name)
	if err != nil || !ok || c.Sampling() {
		return nil, err
	}
	return c.Open()
}

// configured returns the server that a client on this machine knows by this name. The directory where
// the task was started may be on a different machine.
func configured(name, _ string) (launch.Spec, error) {
	f, err := fleet.Here("")
	if err != nil {
		return launch.Spec{}, err
	}
	server, err := f.Look().Use(name, (*fleet.Server).NotAgreed)
	if err != nil {
		return launch.Spec{}, err
	}
	return f.Launch(server), nil
}
