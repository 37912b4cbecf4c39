package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskcli"
	"github.com/gauze-mcp/gauze/internal/trust"
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
	if isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stderr.Fd()) {
		desk.Ask = func(shown, question string) bool { return ask(cmd, shown+"\n\n"+question) }
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

func ask(cmd *cobra.Command, question string) bool {
	fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
