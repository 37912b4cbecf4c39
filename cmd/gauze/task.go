package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskrun"
	"github.com/gauze-mcp/gauze/llm"
)

// taskCommand returns gauze task, which runs lists of tool calls that keep their place.
func taskCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "Run tool calls that continue where they stopped",
		Long: "Run the tool calls in a file, or let a model choose them. Every step is saved before it is\n" +
			"acted on: if a server dies, gauze is killed or you press Ctrl-C, gauze task resume\n" +
			"continues where the task was, and no call with an effect is sent twice.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { help(cmd, nil); return nil },
	}
	cmd.AddGroup(&cobra.Group{ID: "task", Title: "Commands"})
	cmd.AddCommand(grouped("task", taskRunCommand(), taskResumeCommand(), taskDecideCommand(), taskStopCommand(), taskListCommand(), taskShowCommand())...)
	return cmd
}

// taskExit documents the exit statuses of commands that run a task.
const taskExit = "Exit status: 0 if the task is done, 1 if it failed, is stuck, has no model or has spent its\n" +
	"budget, 2 for invalid usage or an invalid file, 3 if a server is dead, 4 if a person must\n" +
	"decide or act, 130 if it was interrupted. The last line on stderr is the command that resumes\n" +
	"the task, unless it is done."

// taskFlags are the flags of commands that run a task.
type taskFlags struct {
	model   adviserFlag
	timeout time.Duration
	json    bool

	chooser llm.Model // set by open; nil if no model is configured
}

// defaultCallTimeout is how long a call of a task may take without progress: a task runs
// unattended, so a server that never answers must not hold it up indefinitely.
const defaultCallTimeout = 10 * time.Minute

func (f *taskFlags) add(cmd *cobra.Command) {
	f.model.add(cmd, "chooses the calls of a task without steps, and judges failing servers")
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultCallTimeout, "maximum `time` without progress for a call")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as JSON, and report no progress")
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
	if f.timeout < 0 {
		return usage(cmd, fmt.Errorf("invalid --timeout %v: must be a duration of zero or more, such as 5m", f.timeout))
	}
	f.chooser, err = f.model.open(cmd)
	return err
}

// run runs or resumes a task, reports how it ended, and returns its exit status.
func (f *taskFlags) run(cmd *cobra.Command, s *taskrun.Store, id string) error {
	hurry := make(chan struct{})
	ctx, release := untilSignal(cmd.Context(), sync.OnceFunc(func() { close(hurry) }))
	defer release()
	machine := doctor.ThisMachine()
	o := taskrun.Options{Model: f.chooser, Hurry: hurry, Configured: configuredServer(cmd), Wrap: proxy.Options{
		Timeout: f.timeout, Doctor: doctor.Live(machine, true), Calls: &doctor.CallDoctor{Machine: machine, Log: callLog()},
	}}
	if !f.json {
		o.Tell = func(state *task.State, e task.Entry) { tellStep(cmd.ErrOrStderr(), state, e) }
	}
	state, err := s.Run(ctx, id, o)
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.CommandPath(), err)
		if state != nil && state.Done == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze task resume %s\n", id)
		}
		return exitStatus(1)
	}
	return f.report(cmd, id, state)
}

// report prints how a task ended. The last line on stderr is the command that resumes it.
func (f *taskFlags) report(cmd *cobra.Command, id string, state *task.State) error {
	text := state.Report(id, time.Now())
	if f.json {
		if _, err := cmd.OutOrStdout().Write(jsonLine(shownTask(id, state, false))); err != nil {
			return err
		}
		text = ""
		if state.Done == nil {
			text = "gauze task resume " + id + "\n"
		}
	}
	if _, err := io.WriteString(cmd.ErrOrStderr(), text); err != nil {
		return err
	}
	if status := state.ExitStatus(); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// tellStep reports one step as it ends.
func tellStep(w io.Writer, state *task.State, e task.Entry) {
	switch e.Kind {
	case task.KindOutcome:
		c := state.Calls[len(state.Calls)-1]
		if c.Outcome == nil {
			return
		}
		fmt.Fprintf(w, "%s %s\n", marks[c.Outcome.Status], callLine(c))
	case task.KindVerdict:
		j := state.Judged[len(state.Judged)-1]
		fmt.Fprintf(w, "! %s is %s: %s (%s)\n", j.Server, j.Health, redact.Passage(j.Reason), j.Action)
	}
}

var marks = map[task.Status]string{task.OK: "✓", task.Failed: "✗", task.Lost: "?"}

// callLine describes a call on one line.
func callLine(c *task.Call) string {
	name := c.Step
	if name == "" {
		name = fmt.Sprintf("call %d", c.Call)
	} else if c.Item > 0 {
		name += fmt.Sprintf("[%d]", c.Item)
	}
	text := fmt.Sprintf("%s  %s/%s", name, c.Server, redact.Quote(c.Tool))
	if c.Attempt > 1 {
		text += fmt.Sprintf("  attempt %d", c.Attempt)
	}
	if c.Outcome == nil {
		return text + "  outcome unknown"
	}
	text += "  " + c.Outcome.Took.Round(time.Millisecond).String()
	if len(c.Outcome.Healed) > 0 {
		text += "  " + strings.Join(c.Outcome.Healed, ", ")
	}
	if c.Outcome.Status != task.OK {
		text += "  " + redact.Quote(firstLineOf(c.Outcome.Text))
	}
	return text
}

func firstLineOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// configuredServer returns a function that returns the server that a client knows by a name, as
// configured for dir. The user is asked about a server of a project, once.
func configuredServer(cmd *cobra.Command) func(name, dir string) (launch.Spec, error) {
	type result struct {
		spec launch.Spec
		err  error
	}
	known := map[string]result{}
	return func(name, dir string) (launch.Spec, error) {
		found, ok := known[name]
		if !ok {
			found.spec, found.err = findConfigured(cmd, name, dir)
			known[name] = found
		}
		return found.spec, found.err
	}
}

func findConfigured(cmd *cobra.Command, name, dir string) (launch.Spec, error) {
	f, err := fleet.Here(versionText())
	if err != nil {
		return launch.Spec{}, err
	}
	if dir != "" {
		f.Home.Project = dir
	}
	_, servers, err := chosen(f, fleet.Choice{Names: []string{name}})
	if err != nil {
		return launch.Spec{}, err
	}
	if len(servers) != 1 {
		return launch.Spec{}, fmt.Errorf("%d servers are called %s: rename one of them, or give the command or URL in the task", len(servers), redact.Quote(name))
	}
	return f.LaunchIfAllowed(servers[0], confirmProject(cmd, []string{name}))
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
	cmd := &cobra.Command{
		Use:   "resume [flags] ID",
		Short: "Continue a task where it stopped",
		Long: "Continue a task where it stopped, with the steps that its file had when it was started; later\n" +
			"changes to the file have no effect. Calls whose results are known are not sent again. A call\n" +
			"that may have taken effect is sent again only if its tool only reads or is idempotent;\n" +
			"otherwise the task asks for gauze task decide.\n\n" + taskExit,
		Example: "gauze task resume weekly-report-k3x7qa",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.open(cmd); err != nil {
				return err
			}
			return withTask(cmd, func(_ context.Context, s *taskrun.Store) error { return f.run(cmd, s, args[0]) })
		},
	}
	f.add(cmd)
	return cmd
}

func taskDecideCommand() *cobra.Command {
	f := &taskFlags{}
	cmd := &cobra.Command{
		Use:   "decide [flags] ID done|repeat|skip",
		Short: "Decide about a call whose outcome is unknown, and continue",
		Long: "Decide about the call whose outcome is unknown, and continue the task:\n\n" +
			"  done    the call took effect; its result is not known\n" +
			"  repeat  the call did not take effect, or may take effect twice; send it again\n" +
			"  skip    continue without it\n\n" + taskExit,
		Example: "gauze task decide weekly-report-k3x7qa done",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.open(cmd); err != nil {
				return err
			}
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				if _, err := s.Decide(ctx, args[0], args[1]); err != nil {
					return err
				}
				return f.run(cmd, s, args[0])
			})
		},
	}
	f.add(cmd)
	return cmd
}

func taskStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "stop ID",
		Short:   "Stop a task that a different process runs",
		Long:    "Stop a task that a different process runs, as Ctrl-C there does: the call in progress gets a\nmoment to end, and the task can be resumed.",
		Example: "gauze task stop weekly-report-k3x7qa",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				state, err := s.Stop(ctx, args[0])
				if errors.Is(err, taskrun.ErrIdle) {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "The task %s is not running: it is %s.\n", args[0], statusOf(state, false))
					return err
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "The task %s stopped: it is %s.\ngauze task resume %s\n", args[0], statusOf(state, false), args[0])
				return err
			})
		},
	}
}

// readTaskFile reads and validates a task file.
func readTaskFile(path string) (*task.Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the task: %w", err)
	}
	return task.Parse(path, text)
}
