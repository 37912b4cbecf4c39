package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
)

// taskCommand returns gauze task, which runs lists of tool calls that keep their place.
func taskCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "Run tool calls as a task that can be resumed",
		Long: "Run the tool calls in a file, or let a model choose them. Every step is saved before it is\n" +
			"carried out: if a server dies, gauze is killed or you press Ctrl-C, gauze task resume\n" +
			"continues where the task stopped, and no call that has an effect is sent twice.\n\n" +
			"With --temporal HOST:PORT, these commands work on the tasks of a Temporal cluster, which\n" +
			"gauze worker runs.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { help(cmd, nil); return nil },
	}
	cmd.AddGroup(&cobra.Group{ID: "task", Title: "Commands"})
	cmd.AddCommand(grouped("task", taskRunCommand(), taskResumeCommand(), taskDecideCommand(), taskStopCommand(), taskListCommand(), taskShowCommand(), taskWatchCommand(), taskRemoveCommand())...)
	return cmd
}

// oneTask requires the ID of a task.
func oneTask(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("missing ID: gauze task list shows the ids of all tasks")
	}
	return atMost(1)(cmd, args)
}

// oneDecision requires the ID of a task and what was decided.
func oneDecision(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 1:
		return errors.New("missing decision: must be done (the call took effect), repeat (send it again) or skip (continue without it)")
	case len(args) == 2 && !slices.Contains(task.Decisions, args[1]):
		return task.InvalidDecision(args[1])
	case len(args) > 2:
		return fmt.Errorf("unexpected argument %q: pass one task ID and one decision", redact.Quote(args[2]))
	}
	return oneTask(cmd, args[:min(len(args), 1)])
}

// taskFlags are the flags of commands that run a task.
type taskFlags struct {
	model        adviserFlag
	timeout      time.Duration
	startTimeout time.Duration
	patience     time.Duration
	json         bool
	noJournal    bool
	consent      taskcli.ConsentFlags

	chooser llm.Model     // set by open; nil if no model is configured
	seen    *trust.Memory // set by open
}

func (f *taskFlags) add(cmd *cobra.Command) {
	f.model.add(cmd, "chooses the calls of a task without steps, and judges failing servers")
	cmd.Flags().DurationVar(&f.timeout, "timeout", taskrun.CallTimeout, "maximum `time` without progress for a call")
	cmd.Flags().DurationVar(&f.startTimeout, "start-timeout", 0, "idle `time` before a starting server is considered stuck (default 1m)")
	cmd.Flags().DurationVar(&f.patience, "patience", 30*time.Second, "minimum `time` to wait for a server that keeps failing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as JSON, without progress")
	journalFlag(cmd.Flags(), &f.noJournal)
	f.consent.Add(cmd.Flags())
}

// openTasks opens the tasks of this user.
func openTasks(cmd *cobra.Command) (*taskrun.Store, error) {
	dir, err := backup.StateDir()
	if err != nil {
		return nil, err
	}
	s, err := taskrun.Open(dir)
	if err != nil {
		return nil, err
	}
	if lost := s.Salvaged(); lost != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze:", lost)
	}
	return s, nil
}

// open validates the flags, before anything is recorded.
func (f *taskFlags) open(cmd *cobra.Command) (err error) {
	for name, value := range map[string]time.Duration{"timeout": f.timeout, "start-timeout": f.startTimeout, "patience": f.patience} {
		if value < 0 {
			return usage(cmd, fmt.Errorf("invalid --%s %v: must be a duration of zero or more, such as 30s", name, value))
		}
	}
	if err := f.consent.Check(); err != nil {
		return usage(cmd, err)
	}
	dir, err := backup.StateDir()
	if err != nil {
		return err
	}
	f.seen = trust.NewMemory(dir)
	f.chooser, err = f.model.open(cmd)
	return err
}

// taskBackoff is how long a task waits before it tries a server again, or 0 for the default. The tests
// set it.
var taskBackoff time.Duration

// options returns how tasks are run. Configured servers are up to the caller. finish exports what is
// left.
func (f *taskFlags) options(events *event.Stream, recorded recording) (o taskrun.Options, finish func()) {
	machine := doctor.ThisMachine()
	o = taskrun.Options{Model: f.chooser, Events: events, Backoff: taskBackoff, Wrap: proxy.Options{
		Timing: proxy.Timing{Timeout: f.timeout, Patience: f.patience}, StartTimeout: f.startTimeout, Doctor: doctor.Live(machine, true), Calls: &doctor.CallDoctor{Machine: machine, Log: callLog()},
	}}
	exporter := newExporter(&o.Wrap, "")
	o.Wrap.Opened = func(s *proxy.Session) func() {
		seen := observeSession(s, "task", recorded)
		hide, end := seen.announce(), exporter.Watch(seen.source().Server)
		return func() { end(); hide() }
	}
	return o, func() { exporter.Close(maxExportWait) }
}

// run runs or resumes a task as it was reviewed, reports how it ended, and returns its exit status.
func (f *taskFlags) run(cmd *cobra.Command, s *taskrun.Store, id string, review *taskcli.Review) error {
	surviveReaders() // the task does not need the reader of its progress
	hurry := make(chan struct{})
	ctx, release := untilSignal(cmd.Context(), sync.OnceFunc(func() { close(hurry) }))
	defer release()
	events := event.New()
	recorded := recordEvents(events, f.noJournal)
	o, exported := f.options(events, recorded)
	o.Hurry = hurry
	progress := newTaskProgress(cmd.ErrOrStderr(), f.json)
	o.Tell, o.Configured = progress.tell, review.Launch
	state, err := s.Run(ctx, id, o)
	exported()
	recorded.finish()
	progress.end()
	if err != nil && state == nil {
		return err // nothing was run: the task is unknown, damaged or running elsewhere
	}
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.CommandPath(), err)
		if state.Resumable() {
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze task resume %s\n", id)
		}
		return exitStatus(1)
	}
	return f.report(cmd, id, state)
}

// report prints how a task ended. The last line on stderr is the command that resumes it.
func (f *taskFlags) report(cmd *cobra.Command, id string, state *task.State) error {
	if err := taskcli.Report(cmd.OutOrStdout(), cmd.ErrOrStderr(), taskcli.Ref{ID: id}, state, f.json); err != nil {
		return err
	}
	if status := state.ExitStatus(); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// withTask opens the tasks and calls do.
func withTask(cmd *cobra.Command, do func(context.Context, *taskrun.Store) error) error {
	s, err := openTasks(cmd)
	if err != nil {
		return err
	}
	err = do(cmd.Context(), s)
	return errors.Join(err, s.Close())
}

func taskResumeCommand() *cobra.Command {
	f := &taskFlags{}
	file := ""
	cmd := &cobra.Command{
		Use:   "resume [flags] ID",
		Short: "Continue a task where it stopped",
		Long: "Continue a task where it stopped. Calls whose results are known are not sent again. A call\n" +
			"that may have taken effect is sent again only if its tool is read-only or idempotent;\n" +
			"otherwise, you decide with gauze task decide.\n\n" +
			"The task keeps the steps and servers that its file had when it was started. With --file, it\n" +
			"uses those of a corrected file instead, in which the completed steps must be unchanged.\n\n" + taskcli.ExitStatuses,
		Example: "gauze task resume weekly-report-k3x7qa\ngauze task resume --file report.yaml weekly-report-k3x7qa",
		Args:    oneTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.open(cmd); err != nil {
				return err
			}
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				if file != "" {
					return f.correct(ctx, cmd, s, args[0], file)
				}
				return f.resume(ctx, cmd, s, args[0], func() error { return nil })
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&file, "file", "", "corrected task `FILE`, used for the remaining steps")
	return cmd
}

func taskDecideCommand() *cobra.Command {
	f := &taskFlags{}
	cmd := &cobra.Command{
		Use:   "decide [flags] ID done|repeat|skip",
		Short: "Decide what to do about a call whose outcome is unknown",
		Long: "Decide what to do about the call whose outcome is unknown, and continue the task:\n\n" +
			"  done    the call took effect; its result is not known\n" +
			"  repeat  the call did not take effect, or it is fine if it takes effect twice; send it again\n" +
			"  skip    continue without it\n\n" + taskcli.ExitStatuses,
		Example: "gauze task decide weekly-report-k3x7qa done",
		Args:    oneDecision,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.open(cmd); err != nil {
				return err
			}
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				return f.resume(ctx, cmd, s, args[0], func() error {
					_, err := s.Decide(ctx, args[0], args[1])
					return err
				})
			})
		},
	}
	f.add(cmd)
	return cmd
}

func taskStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "stop ID",
		Short:   "Stop a task that is running in another process",
		Long:    "Stop a task that is running in another process: the call in progress is given a moment to\nfinish, and the task can be resumed. Other tasks in that process continue.",
		Example: "gauze task stop weekly-report-k3x7qa",
		Args:    oneTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				state, err := s.Stop(ctx, args[0])
				if errors.Is(err, taskrun.ErrIdle) {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "The task %s is not running: it is %s.\n", args[0], taskcli.Status(state, false))
					return err
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "The task %s stopped: it is %s.\ngauze task resume %s\n", args[0], taskcli.Status(state, false), args[0])
				return err
			})
		},
	}
}
