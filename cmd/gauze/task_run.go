package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// taskRunFlags are the flags of gauze task run.
type taskRunFlags struct {
	taskFlags
	plan taskcli.PlanFlags
}

func taskRunCommand() *cobra.Command {
	f := &taskRunFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] FILE | --goal TEXT --server SERVER...",
		Short: "Run a task from a file, or let a model reach a goal",
		Long: "Run the steps of FILE (YAML or JSON). The file is validated completely before anything\n" +
			"starts, and no model is needed:\n\n" +
			"  name: weekly report\n" +
			"  servers:\n" +
			"    notes: cursor/notes           # as a client knows it\n" +
			"    files: {command: [npx, -y, some-server], env: {KEY: \"${KEY}\"}, cwd: data}\n" +
			"    issues: {url: https://example.com/mcp}\n" +
			"  steps:\n" +
			"    - id: list\n" +
			"      server: notes\n" +
			"      tool: list_notes\n" +
			"    - id: read\n" +
			"      server: notes\n" +
			"      tool: read_note\n" +
			"      for: note in ${list.json.notes}    # or note in [\"a\", \"b\"]\n" +
			"      when: ${note.archived} != true     # also ==; not or exists before it\n" +
			"      arguments: {path: \"${note.path}\"}\n" +
			"      on-error: continue                 # or stop, retry, {retry: 5}\n" +
			"  budget: {steps: 100, time: 10m, tokens: 50000, cost: 0.50}\n\n" +
			"${id.text} is the text of an earlier result, ${id.json.path} a value in its structured\n" +
			"content, or in its text if that is JSON. In env, ${NAME} is a variable of the environment,\n" +
			"looked up at every start of the server, so that a secret is neither in the file nor in the\n" +
			"log. $${ is a literal ${.\n\n" +
			"Before the first call, the tools of all steps are looked up, and the task stops if a server\n" +
			"does not list one. unlisted: true in a step says that an earlier step makes it available.\n\n" +
			"Without a budget, a task makes at most 10,000 calls, or 50 if a model chooses them.\n\n" +
			"With --goal, or a file with a goal and no steps, a model chooses the calls.\n\n" +
			"The plan of a file is shown with its servers, and you are asked once before it runs. In\n" +
			"scripts, --yes is enough, unless the file, a directory in which a command starts or a\n" +
			"configured server is part of a project: that requires --consent.\n\n" + taskcli.ExitStatuses,
		Example: "gauze task run report.yaml\n" +
			"gauze task run --goal 'Summarize the notes' --server cursor/notes",
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	f.plan.Add(cmd.Flags())
	return cmd
}

func (f *taskRunFlags) run(cmd *cobra.Command, args []string) error {
	plan, err := f.plan.Plan(args)
	var problems task.Problems
	if errors.As(err, &problems) {
		return err
	}
	if err != nil {
		return usage(cmd, err)
	}
	if err := f.open(cmd); err != nil {
		return err
	}
	review, err := f.review(cmd, plan, args)
	if err != nil {
		return err
	}
	if run, err := f.confirm(cmd, review, ""); !run {
		return err
	}
	return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
		id, err := s.Start(ctx, plan)
		if err != nil {
			return err
		}
		f.seen.Agreed(review.Thing(id), review.About())
		surviveReaders()
		taskcli.Begin(cmd.ErrOrStderr(), id)
		return f.taskFlags.run(cmd, s, id, review)
	})
}

// review returns the review of the plan in a file, or of one that the user typed. That one needs no
// confirmation, except for the servers of a project.
func (f *taskRunFlags) review(cmd *cobra.Command, plan *task.Plan, args []string) (*taskcli.Review, error) {
	if len(args) == 1 {
		return reviewFile(plan, args[0])
	}
	review, err := reviewPlan(*plan)
	if err != nil {
		return nil, err
	}
	review.Typed = true
	for _, s := range review.Servers {
		if s.Found == nil || !s.Found.Foreign() {
			continue
		}
		if err := confirmProject(cmd, []string{s.Configured}, "")(s.Found); err != nil {
			return nil, fmt.Errorf("%s was not started: %w", redact.Quote(s.Configured), err)
		}
	}
	return review, nil
}
