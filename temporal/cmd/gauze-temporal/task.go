package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/temporal/flow"
)

func runCommand(at *cluster) *cobra.Command {
	v := &view{at: at}
	var what taskcli.PlanFlags
	var consent taskcli.ConsentFlags
	detach := false
	var heartbeat time.Duration
	cmd := &cobra.Command{
		Use:   "run [flags] FILE | --goal TEXT --server SERVER...",
		Short: "Run a task on the cluster",
		Long: "Run a task on the cluster and wait for it. Ctrl-C stops the task; it can be resumed. Its servers\n" +
			"run on a worker's machine. The plan, all arguments and all results are stored by Temporal:\n" +
			"pass secrets to workers in their environment, not in the file. With --goal, or a file with a\n" +
			"goal and no steps, the worker's model chooses the calls.\n\n" +
			"If you pass a file, its plan is shown, and you are asked once for each cluster before it runs.\n" +
			"In scripts, use --yes, or --consent if the file is in a repository.\n\n" + taskcli.ExitStatuses,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := what.Plan(args)
			if err != nil {
				return err
			}
			if heartbeat < time.Second {
				return fmt.Errorf("invalid --heartbeat %v: must be at least 1s", heartbeat)
			}
			if run, err := at.confirm(cmd, &consent, plan, strings.Join(args, "")); !run {
				return err
			}
			return at.with(func(c *flow.Client) error {
				c.Timing.Heartbeat = heartbeat
				id, err := c.Start(cmd.Context(), plan)
				if err != nil {
					return v.unconfirmed(cmd, id, err)
				}
				if detach {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), id)
					return err
				}
				taskcli.Begin(cmd.ErrOrStderr(), id)
				return v.wait(cmd, c, id, 0)
			})
		},
	}
	v.add(cmd)
	what.Add(cmd.Flags())
	consent.Add(cmd.Flags())
	cmd.Flags().DurationVar(&heartbeat, "heartbeat", flow.DefaultHeartbeat, "`time` without a response after which a worker is considered dead")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the task's id without waiting for the task")
	return cmd
}

func resumeCommand(at *cluster) *cobra.Command {
	v := &view{at: at}
	var consent taskcli.ConsentFlags
	file := ""
	cmd := &cobra.Command{
		Use: "resume ID", Short: "Continue a task where it stopped", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			resume := (*flow.Client).Resume
			if file == "" && consent.Given() {
				return errors.New("--dry-run, --yes and --consent require --file: the cluster already has the task's plan")
			}
			if file != "" {
				plan, err := taskcli.ReadFile(file)
				if err != nil {
					return err
				}
				if run, err := at.confirm(cmd, &consent, plan, file); !run {
					return err
				}
				resume = func(c *flow.Client, ctx context.Context, id string) (int, error) { return c.Replan(ctx, id, plan) }
			}
			return at.with(func(c *flow.Client) error {
				after, err := resume(c, cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return v.wait(cmd, c, args[0], after)
			})
		},
	}
	v.add(cmd)
	cmd.Flags().StringVar(&file, "file", "", "corrected task `FILE`, used for the remaining steps")
	consent.Add(cmd.Flags())
	return cmd
}

func decideCommand(at *cluster) *cobra.Command {
	v := &view{at: at}
	cmd := &cobra.Command{
		Use: "decide ID done|repeat|skip", Short: "Decide what to do about a call whose outcome is unknown", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(func(c *flow.Client) error {
				after, err := c.Decide(cmd.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				return v.wait(cmd, c, args[0], after)
			})
		},
	}
	v.add(cmd)
	return cmd
}

func watchCommand(at *cluster) *cobra.Command {
	v := &view{at: at}
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Follow a task until it stops or is done", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(func(c *flow.Client) error { return v.watch(cmd, c, args[0]) })
		},
	}
	v.add(cmd)
	return cmd
}

func stopCommand(at *cluster) *cobra.Command {
	return &cobra.Command{
		Use: "stop ID", Short: "Stop a task; it can be resumed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(func(c *flow.Client) error {
				if err := c.Stop(cmd.Context(), args[0]); err != nil {
					return err
				}
				s, err := c.Wait(cmd.Context(), args[0], 0, nil)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "The task %s is %s.\n", args[0], s.Status())
				return err
			})
		},
	}
}

func listCommand(at *cluster) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "list", Short: "List the tasks on the cluster, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.with(func(c *flow.Client) error {
				all, err := c.List(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					for _, one := range all {
						if err := plaintext.WriteJSON(cmd.OutOrStdout(), one); err != nil {
							return err
						}
					}
					return nil
				}
				rows := [][]string{{"ID", "STATUS", "STARTED"}}
				for _, one := range all {
					rows = append(rows, []string{redact.Quote(one.ID), redact.Quote(one.Status), one.Started.Local().Format(time.DateTime)})
				}
				text, _ := terminal.Table(rows, nil)
				_, err = io.WriteString(cmd.OutOrStdout(), text)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each task")
	return cmd
}

func showCommand(at *cluster) *cobra.Command {
	v := &view{at: at}
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show what a task did, and why it stopped", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(func(c *flow.Client) error {
				entries, err := c.Entries(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return v.show(cmd, args[0], entries)
			})
		},
	}
	v.add(cmd)
	return cmd
}

// wait waits for a task and reports how it ended. Ctrl-C stops the task; a second one only ends the
// command.
func (v *view) wait(cmd *cobra.Command, c *flow.Client, id string, after int) error {
	ctx, release := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer release()
	s, err := c.Wait(ctx, id, after, v.progress(cmd))
	if errors.Is(err, context.Canceled) && cmd.Context().Err() == nil {
		release()
		if err = c.Stop(cmd.Context(), id); err == nil {
			s, err = c.Wait(cmd.Context(), id, after, nil)
		}
	}
	if err != nil {
		return v.unconfirmed(cmd, id, err)
	}
	return v.report(cmd, id, s)
}

// watch follows a task without stopping it.
func (v *view) watch(cmd *cobra.Command, c *flow.Client, id string) error {
	ctx, release := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer release()
	s, err := c.Wait(ctx, id, 0, v.follow(cmd))
	if errors.Is(err, context.Canceled) {
		return exitStatus(130)
	}
	if err != nil {
		return err
	}
	return v.report(cmd, id, s)
}

// unconfirmed reports an error after which the task may be running. The last line on stderr is the
// command that finds it again.
func (v *view) unconfirmed(cmd *cobra.Command, id string, err error) error {
	if id == "" {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "gauze: %s\n%s\n", redact.Passage(v.at.explained(err).Error()), v.at.ref(id).Resume())
	return exitStatus(1)
}
