package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// taskFile is the task of the scene. Its third step kills the server.
const taskFile = `
name: demo
servers: {notes: demo/notes}
steps:
  - {id: first, server: notes, tool: append, arguments: {key: task-1}}
  - {id: second, server: notes, tool: append, arguments: {key: task-2}}
  - {id: third, server: notes, tool: die_read, arguments: {times: 1, key: task-read}}
  - {id: fourth, server: notes, tool: append, arguments: {key: task-3}}
`

// taskKeys are the effects of the task.
var taskKeys = []string{"task-1", "task-2", "task-3"}

// lostModule makes the server that the third step killed exit at every start.
const lostModule = "-lost-after=task-read"

// runTask runs a task until its server dies, and resumes it with a server that works.
func (s *stage) runTask(ctx context.Context) error {
	plan, err := task.Parse("demo.yaml", []byte(taskFile))
	if err != nil {
		return err
	}
	store, err := taskrun.Open(s.state)
	if err != nil {
		return err
	}
	defer store.Close()
	id, err := store.Start(ctx, plan)
	if err != nil {
		return err
	}
	s.catchUp()
	s.screen.client(fmt.Sprintf("runs a task of %d steps", len(plan.Steps)))
	state, err := store.Run(ctx, id, s.taskOptions(lostModule))
	if err != nil {
		return err
	}
	if state.ExitStatus() != 3 {
		s.tally.broke(fmt.Sprintf("the task is %s, although its server is dead", state.Status()))
	}
	s.screen.message(strings.TrimSpace(state.Report(id, time.Now())))
	s.screen.client("repairs the server and runs: gauze task resume " + id)
	if state, err = store.Run(ctx, id, s.taskOptions()); err != nil {
		return err
	}
	if state.Done == nil {
		s.tally.broke(fmt.Sprintf("the task is %s, although its server works again", state.Status()))
	}
	s.tally.planned(taskKeys...)
	s.screen.line("✓", terminal.Green, strings.TrimSpace(state.Report(id, time.Now())))
	return nil
}

// taskOptions are the settings of a run whose server has these flags.
func (s *stage) taskOptions(flags ...string) taskrun.Options {
	return taskrun.Options{
		Configured: func(string, string) (launch.Spec, error) { return spec(s.ledger, flags...), nil },
		Events:     s.shown,
		Wrap: proxy.Options{
			Timing:  proxy.Timing{Timeout: callTimeout, Patience: 500 * time.Millisecond},
			Restart: upstream.Restart{Backoff: 10 * time.Millisecond, Cap: 20 * time.Millisecond, Open: 10 * time.Millisecond, OpenMax: 20 * time.Millisecond},
		},
		Tell: func(state *task.State, e task.Entry) {
			if e.Kind != task.KindOutcome {
				return
			}
			c := state.Calls[len(state.Calls)-1]
			if c.Outcome.Status == task.OK {
				s.screen.line("✓", terminal.Green, fmt.Sprintf("step %s: %s", c.Step, oneLine(c.Outcome.Text)))
			} else {
				s.screen.line("✗", terminal.Red, fmt.Sprintf("step %s: %s", c.Step, oneLine(c.Outcome.Text)))
			}
		},
	}
}
