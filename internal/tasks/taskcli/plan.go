package taskcli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// PlanFlags are the flags that say what a task does.
type PlanFlags struct {
	goal    string
	servers []string
	steps   int
}

// Add defines the flags.
func (f *PlanFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.goal, "goal", "", "`goal` for the model, in plain language")
	flags.StringArrayVar(&f.servers, "server", nil, "`server` that the model may use: CLIENT/NAME, a URL or a command; add NAME= in front to name it (repeatable)")
	flags.IntVar(&f.steps, "max-steps", 0, "maximum `number` of calls, instead of the file's budget")
}

// Plan returns the plan of the file in args, or of the flags. A file that is invalid is reported as
// task.Problems.
func (f *PlanFlags) Plan(args []string) (plan *task.Plan, err error) {
	switch {
	case len(args) == 1 && (f.goal != "" || len(f.servers) > 0):
		return nil, errors.New("--goal and --server cannot be combined with a file: put them in the file")
	case len(args) == 1:
		plan, err = ReadFile(args[0])
	case strings.TrimSpace(f.goal) == "":
		return nil, errors.New("pass a task FILE, or --goal")
	case len(f.servers) == 0:
		return nil, errors.New("--goal requires at least one --server")
	default:
		plan, err = f.goalPlan()
	}
	if err != nil {
		return nil, err
	}
	if f.steps < 0 {
		return nil, fmt.Errorf("invalid --max-steps %d: must be at least 1", f.steps)
	}
	if f.steps > 0 {
		plan.Budget.Steps = f.steps
	}
	return plan, nil
}

// ReadFile reads and validates a task file. One that is invalid is reported as task.Problems.
func ReadFile(path string) (*task.Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the task: %w", err)
	}
	return task.Parse(path, text)
}

// goalPlan returns the plan of --goal and --server.
func (f *PlanFlags) goalPlan() (*task.Plan, error) {
	plan := &task.Plan{Name: goalName(f.goal), Goal: f.goal, Servers: map[string]task.Server{}}
	for _, text := range f.servers {
		name, server, err := parseServer(text)
		if err != nil {
			return nil, err
		}
		if _, used := plan.Servers[name]; used {
			return nil, fmt.Errorf("two servers are named %q: rename one of them, for example --server other=%s", name, redact.Quote(text))
		}
		plan.Servers[name] = server
	}
	return plan, nil
}

// goalName returns the first words of a goal.
func goalName(goal string) string {
	words := strings.Fields(goal)
	return strings.Join(words[:min(len(words), 4)], " ")
}

var (
	namedServer  = regex.New(`^([A-Za-z_][A-Za-z0-9_-]*)=(.+)$`)
	clientServer = regex.New(`^[A-Za-z][A-Za-z0-9_-]*/[^/\s]+$`)
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
			return "", s, fmt.Errorf("invalid --server %s: a command here cannot contain quotes; put it in a task file", redact.Quote(text))
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
