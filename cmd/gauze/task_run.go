package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskrun"
)

// taskRunFlags are the flags of gauze task run.
type taskRunFlags struct {
	taskFlags
	goal    string
	servers []string
	steps   int
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
			"    files: {command: [npx, -y, some-server], env: {MODE: fast}, cwd: data}\n" +
			"    issues: {url: https://example.com/mcp}\n" +
			"  steps:\n" +
			"    - id: list\n" +
			"      server: notes\n" +
			"      tool: list_notes\n" +
			"    - id: read\n" +
			"      server: notes\n" +
			"      tool: read_note\n" +
			"      for: note in ${list.json.notes}    # or note in [\"a\", \"b\"]\n" +
			"      when: ${note.archived} != true     # also ==, not, exists\n" +
			"      arguments: {path: \"${note.path}\"}\n" +
			"      on-error: continue                 # or stop, retry, {retry: 5}\n" +
			"  budget: {steps: 100, time: 10m, tokens: 50000, cost: 0.50}\n\n" +
			"${id.text} is the text of an earlier result, ${id.json.path} a value in its structured\n" +
			"content, or in its text if that is JSON. $${ is a literal ${.\n\n" +
			"With --goal, or a file with a goal and no steps, a model chooses the calls.\n\n" + taskExit,
		Example: "gauze task run report.yaml\n" +
			"gauze task run --goal 'Summarize the notes' --server cursor/notes",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.goal, "goal", "", "what a model is to achieve, in `words`")
	cmd.Flags().StringArrayVar(&f.servers, "server", nil, "`server` that the model may use: CLIENT/NAME, a URL or a command; NAME= before it names it (repeatable)")
	cmd.Flags().IntVar(&f.steps, "max-steps", 0, "maximum `number` of calls, instead of the file's budget")
	return cmd
}

func (f *taskRunFlags) run(cmd *cobra.Command, args []string) error {
	plan, err := f.plan(args)
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
	return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
		id, err := s.Start(ctx, plan)
		if err != nil {
			return err
		}
		return f.taskFlags.run(cmd, s, id)
	})
}

// plan returns the plan of the file or of the flags.
func (f *taskRunFlags) plan(args []string) (plan *task.Plan, err error) {
	switch {
	case len(args) == 1 && (f.goal != "" || len(f.servers) > 0):
		return nil, errors.New("--goal and --server cannot be combined with a file: write them into the file")
	case len(args) == 1:
		if plan, err = readTaskFile(args[0]); err != nil {
			return nil, err
		}
	case strings.TrimSpace(f.goal) == "":
		return nil, errors.New("give the FILE of a task, or --goal")
	case len(f.servers) == 0:
		return nil, errors.New("--goal requires at least one --server")
	default:
		plan = &task.Plan{Name: goalName(f.goal), Goal: f.goal, Servers: map[string]task.Server{}}
		for _, text := range f.servers {
			name, server, err := parseServer(text)
			if err != nil {
				return nil, err
			}
			if _, used := plan.Servers[name]; used {
				return nil, fmt.Errorf("two servers are called %q: name one of them differently, as in --server other=%s", name, redact.Quote(text))
			}
			plan.Servers[name] = server
		}
	}
	if f.steps < 0 {
		return nil, fmt.Errorf("invalid --max-steps %d: must be at least 1", f.steps)
	}
	if f.steps > 0 {
		plan.Budget.Steps = f.steps
	}
	return plan, nil
}

// goalName returns the first words of a goal.
func goalName(goal string) string {
	words := strings.Fields(goal)
	return strings.Join(words[:min(len(words), 4)], " ")
}

var (
	namedServer  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)=(.+)$`)
	clientServer = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*/[^/\s]+$`)
)

// parseServer reads the value of --server: a URL, the name by which a client knows the server, or a
// command without quotes.
func parseServer(text string) (name string, s task.Server, err error) {
	if words := namedServer.FindStringSubmatch(text); words != nil {
		name, text = words[1], words[2]
	}
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return "", s, errors.New("invalid --server: must be CLIENT/NAME, a URL or a command")
	case strings.Contains(words[0], "://"):
		if err := launch.CheckURL(text); err != nil {
			return "", s, fmt.Errorf("invalid --server: %w", err)
		}
		s.URL = text
	case len(words) == 1 && clientServer.MatchString(text):
		s.Configured = text
	default:
		if strings.ContainsAny(text, `"'`) {
			return "", s, fmt.Errorf("invalid --server %s: a command here has no quotes; write it into a task file", redact.Quote(text))
		}
		s.Command = words
	}
	if name == "" {
		name = serverName(s)
	}
	return name, s, nil
}

// serverName returns a short name for a server.
func serverName(s task.Server) string {
	switch {
	case s.Configured != "":
		_, name, _ := strings.Cut(s.Configured, "/")
		return name
	case s.URL != "":
		return launch.Spec{URL: s.URL}.Label()
	}
	return filepath.Base(s.Command[0])
}
