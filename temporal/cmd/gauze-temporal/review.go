package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// confirm reports whether a plan may run on the cluster, after it asked about one that no one has seen.
// file is empty if the user typed the plan. A worker asks no one.
func (c *cluster) confirm(cmd *cobra.Command, consent *taskcli.ConsentFlags, plan *task.Plan, file string) (run bool, err error) {
	if err := consent.Check(); err != nil {
		return false, err
	}
	if _, err := c.options(); err != nil {
		return false, err
	}
	state, err := backup.StateDir()
	if err != nil {
		return false, err
	}
	f, err := fleet.Here("")
	if err != nil {
		return false, err
	}
	review, err := taskcli.OfElsewhere(f, *plan, c.place())
	if err != nil {
		return false, err
	}
	if review.Typed = file == ""; !review.Typed {
		if err := review.From(file); err != nil {
			return false, err
		}
	}
	desk := taskcli.Desk{Command: "gauze task " + cmd.Name(), Flags: cmd.Flags(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Seen: trust.NewMemory(state)}
	if terminal.Is(os.Stdin) && terminal.Is(os.Stderr) {
		desk.Ask = func(text string) bool { return terminal.Ask(cmd.InOrStdin(), cmd.ErrOrStderr(), text) }
	}
	run, err = consent.Confirm(desk, review, "")
	if errors.Is(err, taskcli.ErrNotConfirmed) {
		err = exitStatus(1)
	}
	return run, err
}

// place says where the servers of a task run.
func (c *cluster) place() string {
	return fmt.Sprintf("a worker of %s, namespace %s, queue %s", redact.Quote(c.address), redact.Quote(c.namespace), redact.Quote(c.queue))
}
