package task

// This file converts between the types of this package and the internal ones.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/execute"
	"github.com/gauze-mcp/gauze/internal/tasks/given"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// openTasks opens the journal in a directory, or the one of the gauze command.
func openTasks(dir string) (_ *taskrun.Store, err error) {
	if dir == "" {
		if dir, err = backup.StateDir(); err != nil {
			return nil, err
		}
	} else if err := backup.CheckOwn(dir); err != nil {
		return nil, err
	}
	return taskrun.Open(dir)
}

// parsePlan is Parse.
func parsePlan(file string, text []byte) (Plan, error) {
	plan, err := task.Parse(file, text)
	if err != nil {
		return Plan{}, planError(err, nil)
	}
	public := Plan{Name: plan.Name, Goal: plan.Goal, Budget: Budget(plan.Budget), Servers: map[string]Server{}}
	for name, s := range plan.Servers {
		public.Servers[name] = Server{Command: s.Command, Env: s.Env, Dir: s.Cwd, URL: s.URL, Configured: s.Configured}
	}
	for _, s := range plan.Steps {
		step := Step{ID: s.ID, Server: s.Server, Tool: s.Tool, When: s.When, For: s.For, Attempts: s.OnError.Attempts, Continue: s.OnError.Continue, Unlisted: s.Unlisted}
		if s.Arguments != nil {
			step.Arguments = s.Arguments
		}
		public.Steps = append(public.Steps, step)
	}
	return public, nil
}

// planError returns the problems of a plan. fields has the place in a Plan for each line, and is
// nil for a file.
func planError(err error, fields []string) error {
	var problems task.Problems
	if !errors.As(err, &problems) {
		return err
	}
	e := &PlanError{}
	for _, p := range problems {
		public := Problem{File: p.File, Line: p.Line, Column: p.Column, Message: p.Message}
		if fields != nil {
			public = Problem{Field: fieldAt(fields, p.Line), Message: inGo(p.Message, fields)}
		}
		e.Problems = append(e.Problems, public)
	}
	return e
}

// fieldAt returns the field that is on a line.
func fieldAt(fields []string, line int) string { return fields[min(max(line, 1), len(fields))-1] }

// inGo returns a message about a file with the names that a Plan has.
func inGo(message string, fields []string) string {
	if before, number, ok := strings.Cut(message, " or on line "); ok {
		if line, err := strconv.Atoi(number); err == nil {
			return before + " or in " + fieldAt(fields, line)
		}
	}
	if rest, ok := strings.CutPrefix(message, "invalid retry:"); ok {
		return "invalid Attempts:" + rest
	}
	return strings.ReplaceAll(message, "but env and cwd apply", "but Env and Dir apply")
}

// unset returns an error if servers of the plan refer to variables that are not set.
func unset(servers map[string]task.Server) error {
	e := &PlanError{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if _, err := servers[name].Environ(); err != nil {
			e.Problems = append(e.Problems, Problem{Field: fmt.Sprintf("Servers[%q]", name), Message: err.Error()})
		}
	}
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// internal validates the plan as if it were a file: one rule for both.
func (p Plan) internal(own map[string]gauze.Options) (*task.Plan, error) {
	text, fields, err := p.document(own)
	if err != nil {
		return nil, err
	}
	plan, err := task.Parse("task", text)
	if err != nil {
		return nil, planError(err, fields)
	}
	return plan, unset(plan.Servers)
}

// document returns the plan as a task file, with the field of each line.
func (p Plan) document(own map[string]gauze.Options) (text []byte, fields []string, err error) {
	var b bytes.Buffer
	line := func(field, before string, value any) {
		encoded, problem := json.Marshal(value)
		if problem != nil && err == nil {
			err = &PlanError{[]Problem{{Field: field, Message: "cannot be encoded as JSON: " + problem.Error()}}}
		}
		fields = append(fields, field)
		fmt.Fprintf(&b, "%s%s\n", before, encoded)
	}
	servers := map[string]any{}
	for name, s := range p.Servers {
		servers[name] = s.document()
	}
	for name := range own {
		if s, ok := p.Servers[name]; !ok || s.isZero() {
			servers[name] = "program/" + url.PathEscape(name)
		}
	}
	line("Servers", `{"servers":`, servers)
	if p.Name != "" {
		line("Name", `,"name":`, p.Name)
	}
	if p.Goal != "" || len(p.Steps) == 0 {
		line("Goal", `,"goal":`, p.Goal)
	}
	line("Budget", `,"budget":`, p.Budget.document())
	for i, step := range p.Steps {
		before := `,`
		if i == 0 {
			before = `,"steps":[`
		}
		line(fmt.Sprintf("Steps[%d]", i), before, step.document())
	}
	if len(p.Steps) > 0 {
		b.WriteString("]")
	}
	b.WriteString("}")
	return b.Bytes(), fields, err
}

func (s Server) isZero() bool {
	return len(s.Command) == 0 && s.URL == "" && s.Configured == "" && len(s.Env) == 0 && s.Dir == ""
}

func (s Server) document() any {
	if s.Configured != "" && len(s.Command) == 0 && s.URL == "" {
		return s.Configured
	}
	fields := map[string]any{}
	put(fields, "command", s.Command, len(s.Command) > 0)
	put(fields, "url", s.URL, s.URL != "")
	put(fields, "cwd", s.Dir, s.Dir != "")
	put(fields, "env", s.Env, len(s.Env) > 0)
	return fields
}

func (s Step) document() any {
	fields := map[string]any{}
	put(fields, "id", s.ID, s.ID != "")
	put(fields, "server", s.Server, s.Server != "")
	put(fields, "tool", s.Tool, s.Tool != "")
	put(fields, "arguments", s.Arguments, s.Arguments != nil)
	put(fields, "when", s.When, len(s.When) > 0)
	put(fields, "for", s.For, s.For != "")
	put(fields, "unlisted", true, s.Unlisted)
	switch {
	case s.Attempts != 0 && s.Continue:
		fields["on-error"] = map[string]any{"retry": s.Attempts, "then": "continue"}
	case s.Attempts != 0:
		fields["on-error"] = map[string]any{"retry": s.Attempts}
	case s.Continue:
		fields["on-error"] = "continue"
	}
	return fields
}

func (t Budget) document() any {
	fields := map[string]any{}
	put(fields, "steps", t.Steps, t.Steps != 0)
	put(fields, "time", t.Time.String(), t.Time != 0)
	put(fields, "tokens", t.Tokens, t.Tokens != 0)
	put(fields, "cost", t.Cost, t.Cost != 0)
	return fields
}

// put sets a field unless it has its default.
func put(fields map[string]any, key string, value any, is bool) {
	if is {
		fields[key] = value
	}
}

// internal returns the options of a run. closeAll releases what they hold.
func (o Options) internal(id string) (options taskrun.Options, closeAll func(), err error) {
	var opened []func()
	closeAll = func() {
		for _, done := range opened {
			done()
		}
	}
	options.Wrap.Timing.Timeout = taskrun.CallTimeout
	options.Sessions = map[string]proxy.Options{}
	reports := map[string]func(event.Event){}
	for _, name := range slices.Sorted(maps.Keys(o.Servers)) {
		server := o.Servers[name]
		if err := given.Check(server); err != nil {
			closeAll()
			return options, nil, fmt.Errorf("gauze: invalid task.Options.Servers[%q]: %w", name, err)
		}
		server.Timeout = cmp.Or(server.Timeout, taskrun.CallTimeout)
		session, err := given.Open(server)
		if err != nil {
			closeAll()
			return options, nil, err
		}
		opened = append(opened, session.Close)
		options.Sessions[name], reports[name] = session.Options, session.Report
	}
	options.Observe = func(name string, e event.Event) {
		if report := reports[name]; report != nil {
			report(e)
		}
	}
	if o.Model != nil {
		options.Model = execute.Guarded{Model: o.Model}
	}
	options.Tell = func(s *task.State, e task.Entry) {
		if o.OnProgress != nil {
			o.OnProgress(publicProgress(id, s, e))
		}
	}
	return options, closeAll, nil
}

// publicTask returns a task as its log describes it.
func publicTask(id string, s *task.State) Result {
	r := Result{ID: id, Name: s.Plan.Name, Status: Status(s.Status()), Total: len(s.Plan.Steps), Remaining: s.Remaining(), Spent: Spent{s.Spent.Steps, s.Spent.Time, s.Spent.Tokens, s.Spent.Cost}}
	r.Done = r.Total - len(r.Remaining)
	switch {
	case s.Done != nil:
		r.Message = s.Passage(s.Done.Summary)
	case s.Stopped != nil:
		stop := s.StoppedShown()
		r.Message, r.Diagnosis, r.Remedy = stop.Message, stop.Diagnosis, stop.Remedy
		r.Server, r.Step, r.Since = stop.Server, stop.Step, stop.Since
	}
	for _, c := range s.Calls {
		call := publicCall(c)
		r.Calls = append(r.Calls, call)
		for _, what := range call.Healed {
			r.Healed = append(r.Healed, call.label()+": "+what)
		}
	}
	return r
}

// label names a call for a person.
func (c Call) label() string {
	if c.Step != "" {
		return c.Step
	}
	return c.Tool
}

func publicCall(c *task.Call) Call {
	call := Call{
		Step: c.Step, Item: c.Item, Attempt: c.Attempt, Server: c.Server, Tool: c.Tool, Arguments: slices.Clone(c.Arguments),
		Sent: c.Sent, Decision: Decision(c.Decision),
	}
	if o := c.Outcome; o != nil {
		call.Took, call.Status, call.Text, call.JSON = o.Took, string(o.Status), o.Text, slices.Clone(o.JSON)
		call.Code, call.Healed = fault.Code(o.Fault), slices.Clone(o.Healed)
	}
	return call
}

// publicProgress returns the entry that was just applied to the state.
func publicProgress(id string, s *task.State, e task.Entry) Progress {
	p := Progress{ID: id, Time: e.Time, Kind: e.Kind, Total: len(s.Plan.Steps), Text: redact.Passage(s.Describe(e))}
	p.Done = p.Total - len(s.Remaining())
	if (e.Kind == task.KindIntent || e.Kind == task.KindOutcome) && len(s.Calls) > 0 {
		call := publicCall(s.Calls[len(s.Calls)-1])
		p.Call = &call
	}
	return p
}

// taskError is an error of the log that is also one of ours.
type taskError struct {
	error
	is error
}

func (e *taskError) Unwrap() []error { return []error{e.error, e.is} }

var errClosed = errors.New("gauze: the log was closed: open it again with task.OpenLog")

func publicTaskError(err error) error {
	switch {
	case errors.Is(err, taskrun.ErrRunning):
		return &taskError{err, ErrRunning}
	case errors.Is(err, taskrun.ErrClosed):
		return errClosed
	}
	return err
}
