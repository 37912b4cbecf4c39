package agenttools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

func (svc *service) addTaskTools() {
	add(svc, "run_task", "Run a task",
		"Run tool calls on MCP servers as a task that survives crashes and can be resumed: steps, or a goal for gauze's own model. Runs in the background after the user confirms the plan; get_task reports on it.",
		hints{destructive: true, openWorld: true}, (*call).runTask)
	add(svc, "get_task", "Get the state of a task",
		"Report the state of a task: what it did, the results of its steps, why it stopped and what to do next. Does not change anything.",
		hints{readOnly: true, idempotent: true}, (*call).getTask)
	add(svc, "resume_task", "Continue a task",
		"Continue a task where it stopped, without repeating calls that took effect. If its state is needs-decision, ask the user what to do about the call whose outcome is unknown, and pass their answer as decision.",
		hints{destructive: true, openWorld: true}, (*call).resumeTask)
}

type runTaskIn struct {
	Plan    json.RawMessage `json:"plan" jsonschema:"YAML or JSON text, or an object: servers {notes: cursor/notes}, steps [{id, server, tool, arguments, when, for, on-error, unlisted}] or goal, budget {steps, time}; ${id.text} and ${id.json.path} refer to results of earlier steps"`
	Wait    float64         `json:"wait_seconds,omitempty" jsonschema:"seconds to wait for the task to finish, 0 to 60; default 2"`
	Consent string          `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

type getTaskIn struct {
	ID   string  `json:"id" jsonschema:"id of the task"`
	Step string  `json:"step,omitempty" jsonschema:"only this step, with its whole result"`
	Wait float64 `json:"wait_seconds,omitempty" jsonschema:"seconds to wait for the task to finish, 0 to 60; default 0"`
}

type resumeTaskIn struct {
	ID       string  `json:"id" jsonschema:"id of the task"`
	Decision string  `json:"decision,omitempty" jsonschema:"done (it took effect), repeat (send it again) or skip"`
	Wait     float64 `json:"wait_seconds,omitempty" jsonschema:"seconds to wait for the task to finish, 0 to 60; default 2"`
	Consent  string  `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

// Limits of a plan from an agent. A question to the user has its own limit.
const (
	maxPlanBytes = 256 << 10
	maxPlanSteps = 1000
)

const defaultWait = 2 * time.Second

// waitTime converts a wait argument. Zero means the default.
func waitTime(seconds float64, otherwise time.Duration) (time.Duration, error) {
	if seconds < 0 || seconds > 60 {
		return 0, failure(fmt.Sprintf("invalid wait_seconds %v: must be between 0 and 60", seconds), `for example {"wait_seconds": 30}`)
	}
	if seconds == 0 {
		return otherwise, nil
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

const planExample = `for example {"plan": {"servers": {"notes": "cursor/notes"}, "steps": [{"id": "list", "server": "notes", "tool": "list_notes", "arguments": {}}]}}; list_servers returns the names`

// planOf parses the plan of an agent, which is the text of a task file or the same as an object.
func (c *call) planOf(raw json.RawMessage) (*task.Plan, error) {
	text := []byte(raw)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		text = []byte(quoted)
	}
	if len(text) > maxPlanBytes {
		return nil, failure(fmt.Sprintf("the plan is too large: %d kB (limit: %d kB)", len(text)>>10, maxPlanBytes>>10), "split it into several tasks")
	}
	if quoted == "" { // the lines of an object are not the agent's
		var indented bytes.Buffer
		if json.Indent(&indented, text, "", " ") == nil {
			text = indented.Bytes()
		}
	}
	plan, err := task.Parse("task", text)
	switch {
	case err != nil:
		return nil, failure("the plan is invalid: "+redact.Text(plaintext.Cap(err.Error(), 4000)), planExample)
	case len(plan.Steps) > maxPlanSteps:
		return nil, failure(fmt.Sprintf("the plan has too many steps: %d (limit: %d)", len(plan.Steps), maxPlanSteps), "split it into several tasks, or use a loop (for)")
	case plan.ByModel() && c.service.Model == nil:
		return nil, failure("the plan has a goal but no steps, and gauze mcp has no model to choose them", "write the steps, or ask the user to configure a model (gauze model)")
	}
	for name, s := range plan.Servers { // as the user is asked about it, and as it is resumed
		switch {
		case len(s.Command) > 0:
			s.Cwd = c.service.Fleet.GivenDir(s.Cwd)
		case s.Configured != "":
			s.Cwd = c.service.Fleet.Home.Project
		}
		plan.Servers[name] = s
	}
	return plan, nil
}

func (c *call) runTask(in runTaskIn) (out TaskRun, err error) {
	wait, err := waitTime(in.Wait, defaultWait)
	if err != nil {
		return out, err
	}
	plan, err := c.planOf(in.Plan)
	if err != nil {
		return out, err
	}
	if err := c.service.tasks.roomFor(); err != nil {
		return out, err
	}
	asIs := func(arguments json.RawMessage) json.RawMessage { return arguments } // the agent wrote them
	q, review, err := c.planQuestion(plan, asIs)
	if err != nil {
		return out, err
	}
	q.title, q.typed = "Allow Gauze to run this task with your MCP servers?", "gauze task run FILE"
	out, err = confirm(c, q, func(c *call) (TaskRun, error) {
		c.look() // register secrets for redaction
		store, err := c.service.tasks.open()
		if err == nil {
			err = c.service.tasks.roomFor()
		}
		if err != nil {
			return TaskRun{}, err
		}
		id := cmp.Or(c.request.TaskID, taskrun.NewID(plan.Name))
		if err := store.StartAs(c.ctx, id, plan); err != nil {
			return TaskRun{}, err
		}
		c.confirmed(id, review)
		return c.background(id, plan, review, wait)
	})
	if out.Status == needsPerson {
		out.How += "\nThe user must save the plan as FILE first."
	}
	return out, err
}

// planQuestion returns what the user is asked about a plan, and its review. The agent chose the
// arguments of all calls, so a plan is always confirmed. hide removes secrets from arguments that the
// agent reads.
func (c *call) planQuestion(plan *task.Plan, hide func(json.RawMessage) json.RawMessage) (q question, review *taskcli.Review, err error) {
	q.operations, q.plain = []operation{{trust.Agent, trust.Send}}, true
	c.look() // register secrets for redaction
	review, err = taskcli.Of(c.service.Fleet, *plan)
	if err != nil {
		return q, nil, failure("nothing was done: "+err.Error(), "shorten the command, or ask the user to start the task in a terminal")
	}
	for _, s := range review.Servers {
		if s.Err != nil {
			return q, nil, s.Err
		}
		if one := candidateOf(s); one != nil {
			q.operations = append(q.operations, one.operation())
		}
	}
	q.shown, q.full, q.token = review.Brief(hide), review.Whole(), review.Thing("").Hash()
	return q, review, nil
}

// candidateOf returns a server of a plan that may be started only with the user's confirmation, or nil.
func candidateOf(s taskcli.Reviewed) *candidate {
	switch {
	case s.Found == nil:
		one := ofAgent(s.Spec)
		return &one
	case s.Found.Foreign():
		one := ofProject(s.Found)
		return &one
	}
	return nil
}

// confirmed remembers that the user has seen a task with its servers as they are.
func (c *call) confirmed(id string, review *taskcli.Review) {
	c.remember(review.Thing(id), review.About())
	for _, s := range review.Servers {
		if one := candidateOf(s); one != nil {
			c.rememberServer(*one)
		}
	}
}

// checkID returns an error if a task cannot have this id.
func checkID(id string) error {
	if id == "" || len(id) > 64 {
		return failure("invalid id: must be 1 to 64 characters", "use the id in the result of run_task")
	}
	return nil
}

func (c *call) getTask(in getTaskIn) (out TaskFound, err error) {
	wait, err := waitTime(in.Wait, 0)
	if err = cmp.Or(checkID(in.ID), err); err != nil {
		return out, err
	}
	c.look()
	c.service.tasks.wait(c.ctx, in.ID, wait)
	found, err := c.reportTask(in.ID, in.Step)
	if err != nil {
		return out, err
	}
	return TaskFound{*found}, nil
}

func (c *call) resumeTask(in resumeTaskIn) (out TaskRun, err error) {
	wait, err := waitTime(in.Wait, defaultWait)
	if err = cmp.Or(checkID(in.ID), err); err != nil {
		return out, err
	}
	store, err := c.service.tasks.open()
	if err != nil {
		return out, err
	}
	state, err := store.State(c.ctx, in.ID)
	if err != nil {
		return out, taskFailure(err)
	}
	undecided := state.Undecided()
	switch {
	case in.Decision != "" && !slices.Contains(task.Decisions, in.Decision):
		return out, failure(fmt.Sprintf("invalid decision %q: must be %s", redact.Quote(in.Decision), strings.Join(task.Decisions, ", ")), "ask the user whether the call took effect")
	case in.Decision != "" && undecided == nil:
		return out, failure("the task is not waiting for a decision: it is "+state.Status(), `call resume_task with {"id": %q}`, redact.Quote(in.ID))
	case state.Done != nil:
		out.Status = nothingToDo
		out.Task, err = c.reportTask(in.ID, "")
		return out, err
	}
	if err := c.service.tasks.roomFor(); err != nil {
		return out, err
	}
	hide := func(arguments json.RawMessage) json.RawMessage { return redact.JSON(arguments, state.Hide) }
	q, review, err := c.planQuestion(&state.Plan, hide)
	if err != nil {
		return out, err
	}
	q.title, q.typed = "Allow Gauze to continue this task?", commandLine("gauze", "task", "resume", in.ID)
	if in.Decision != "" {
		q.title = map[string]string{
			"done":   "Did this call take effect? Allow Gauze to continue the task after it?",
			"repeat": "Allow Gauze to send this call again? It may take effect twice.",
			"skip":   "Allow Gauze to continue the task without this call?",
		}[in.Decision]
		decided := func(arguments json.RawMessage) string {
			return plaintext.Visible(fmt.Sprintf("%s %s %s", undecided.Server, undecided.Tool, arguments)) + "\n"
		}
		q.shown, q.full = decided(hide(undecided.Arguments))+q.shown, fleet.Fold(decided(undecided.Arguments))+q.full
		q.typed = commandLine("gauze", "task", "decide", in.ID, in.Decision)
		q.token += in.Decision
	}
	run := func(c *call) (TaskRun, error) {
		c.look()
		if in.Decision != "" {
			if now, err := store.State(c.ctx, in.ID); err != nil || now.Seq != state.Seq {
				return TaskRun{}, errors.Join(taskFailure(err), failure("the task was continued in the meantime", "call get_task with {\"id\": %q}", redact.Quote(in.ID)))
			}
			if _, err := store.Decide(c.ctx, in.ID, in.Decision); err != nil {
				return TaskRun{}, taskFailure(err)
			}
		}
		return c.background(in.ID, &state.Plan, review, wait)
	}
	if in.Decision == "" && c.service.tasks.confirmed(in.ID) && c.service.agreed(review.Thing(in.ID)) {
		return run(c)
	}
	return confirm(c, q, func(c *call) (TaskRun, error) {
		c.confirmed(in.ID, review)
		return run(c)
	})
}
