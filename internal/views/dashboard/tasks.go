package dashboard

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

var taskPages = []page{
	{path: "/tasks", nav: "tasks", template: "tasks", load: taskList},
	{path: "/tasks/{id}", nav: "tasks", template: "task", load: taskPage},
}

var taskActions = []action{
	{path: "/tasks/{id}/resume", do: resumeTask},
	{path: "/tasks/{id}/stop", do: stopTask},
}

// taskLine is a task in the list.
type taskLine struct{ taskcli.Summary }

// Link returns the path of the task's page.
func (l taskLine) Link() string { return taskLink(l.ID) }

func taskLink(id string) string { return "/tasks/" + url.PathEscape(id) }

func taskList(d *Dashboard, r *http.Request) (title string, data any, err error) {
	lines := []taskLine{}
	store, err := d.tasks()
	if store == nil {
		return "Tasks", lines, err
	}
	all, err := store.List(r.Context())
	for _, one := range all {
		lines = append(lines, taskLine{taskcli.SummarizeListed(one, one.Active || d.work.tasks.Running(one.ID))})
	}
	return "Tasks", lines, err
}

// taskData is what the page of a task shows.
type taskData struct {
	taskLine
	Goal, Summary string
	Stopped       *task.Stopped // nil while the task runs
	Active        bool
	Here          bool // the dashboard runs it
	Resumable     bool
	Undecided     *task.Call
	Arguments     string // those of Undecided
	Steps         []taskStep
	Timeline      []taskItem
	Healed        []shownItem // what was recorded about its servers and their calls
	Servers       []taskServer
	Foreign       bool   // a server comes with a project and must be confirmed
	Blocked       bool   // a server cannot be confirmed here
	Damage        string // what is missing in the log
	Failed        string // why the last run here could not begin or be recorded
	Seen          string // the token of all this
}

// taskStep is a step of the plan and what became of it.
type taskStep struct {
	ID, Server, Tool string
	State            string // done, next or open
	Calls, Attempts  int
}

// taskItem is an entry of the timeline.
type taskItem struct {
	Time   time.Time
	Kind   string
	Text   string
	Healed bool
}

// taskServer is a server of a task, and whether resuming starts it without a question.
type taskServer struct {
	Name, Shown string
	Foreign     bool          // it comes with a project
	Whole       string        // the entry of a project, as it is confirmed
	Problem     string        // why it cannot be started
	entry       *fleet.Server // what is confirmed
}

func taskPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	t, err := d.task(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", nil, err
	}
	t.Healed, err = d.healedFor(r.Context(), t.ID)
	return cmp.Or(t.Name, t.ID), t, err
}

// maxTaskItems limits what the page of a task shows as healed.
const maxTaskItems = 50

// healedFor returns what gauze healed for a task, newest first.
func (d *Dashboard) healedFor(ctx context.Context, id string) ([]shownItem, error) {
	records, err := d.events(ctx)
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r journal.Record) bool { return r.Task != id })
	items := slices.DeleteFunc(timeline.Items(records), func(it timeline.Item) bool { return !it.Helped() })
	shown, _ := d.shown(newestFirst(items), maxTaskItems)
	return shown, nil
}

// task returns everything about a task.
func (d *Dashboard) task(ctx context.Context, id string) (*taskData, error) {
	store, err := d.tasks()
	if err != nil {
		return nil, err
	}
	if store == nil || len(id) > 200 {
		return nil, unknownTask("")
	}
	here := d.work.tasks.Running(id)
	active := here || store.Running(id) // before the entries: its last ones are among them
	entries, damage := store.Entries(ctx, id)
	if len(entries) == 0 {
		return nil, unknownTask(damage.Error())
	}
	state, err := task.Fold(entries)
	if err != nil {
		return nil, err
	}
	t := &taskData{taskLine: taskLine{taskcli.Summarize(id, state, active)}, Goal: redact.Passage(state.Plan.Goal), Active: active, Here: here, Undecided: state.Undecided()}
	t.Resumable = !active && state.Done == nil && state.Resumable() && damage == nil
	if !active {
		t.Stopped = state.StoppedShown()
	} else {
		t.Undecided = nil
	}
	if state.Done != nil {
		t.Summary = state.Passage(state.Done.Summary)
	}
	if damage != nil {
		t.Damage = redact.Passage(damage.Error())
	}
	if err := d.work.tasks.Err(id); err != nil {
		t.Failed = redact.Passage(err.Error())
	}
	for _, e := range entries {
		if line := state.Describe(e); line != "" {
			t.Timeline = append(t.Timeline, taskItem{e.Time, e.Kind, line, e.Kind == task.KindOutcome && strings.Contains(string(e.Data), `"healed":`)})
		}
	}
	slices.Reverse(t.Timeline)
	t.addSteps()
	f, err := d.fleet()
	if err != nil {
		return nil, err
	}
	t.addServers(f)
	if t.Undecided != nil {
		t.Arguments = fleet.Masked(state.Hide(plaintext.Clean(plaintext.Cap(string(t.Undecided.Arguments), 32<<10))), f.Look().Secrets())
	}
	return t, nil
}

func unknownTask(detail string) error {
	return &problem{Status: http.StatusNotFound, What: "This task does not exist.", Next: plaintext.Cap(detail, 500)}
}

// addSteps adds the steps of the plan, with the calls that were made for each.
func (t *taskData) addSteps() {
	calls := map[string]*taskStep{}
	for i, step := range t.State.Plan.Steps {
		one := taskStep{ID: redact.Quote(step.ID), Server: redact.Quote(step.Server), Tool: redact.Quote(step.Tool), State: "open"}
		switch {
		case i < t.Done:
			one.State = "done"
		case i == t.Done && t.State.Done == nil:
			one.State = "next"
		}
		t.Steps = append(t.Steps, one)
	}
	for i, step := range t.State.Plan.Steps {
		calls[step.ID] = &t.Steps[i]
	}
	for _, c := range t.State.Calls {
		if step := calls[c.Step]; step != nil {
			step.Calls++
			step.Attempts = max(step.Attempts, c.Attempt)
		}
	}
}

// addServers adds the servers, and what must be confirmed before they are started: the same as gauze
// task resume asks.
func (t *taskData) addServers(f *fleet.Fleet) {
	seen := []any{t.ID, t.State.Seq}
	for _, name := range slices.Sorted(maps.Keys(t.State.Plan.Servers)) {
		s := t.State.Plan.Servers[name]
		one := taskServer{Name: redact.Quote(name)}
		if s.Configured != "" {
			one.configured(f, s)
		} else {
			one.Shown = fleet.Describe(taskrun.Given(s))
		}
		t.Foreign = t.Foreign || one.Foreign
		t.Blocked = t.Blocked || one.Foreign && one.Problem != ""
		t.Servers = append(t.Servers, one)
		seen = append(seen, name, one.hash())
	}
	t.Seen = token(seen...)
}

// hash identifies what is confirmed.
func (one *taskServer) hash() string {
	if one.entry == nil {
		return ""
	}
	return one.entry.Thing().Hash()
}

// configured looks up a server that a client knows by its name.
func (one *taskServer) configured(f *fleet.Fleet, s task.Server) {
	one.Shown = redact.Quote(s.Configured)
	server, err := f.At(s.Cwd).Look().Use(s.Configured, func(s *fleet.Server) error {
		one.Foreign, one.entry = true, s
		one.Shown += " (" + s.Shown() + ")"
		whole, err := s.Whole()
		one.Whole = whole
		return err
	})
	switch {
	case err != nil:
		one.Problem = redact.Passage(err.Error())
	case !one.Foreign:
		one.Shown += " (" + server.Shown() + ")"
	}
}

// resumeTask continues a task in the background, after a decision if one is needed.
func resumeTask(d *Dashboard, r *http.Request) (next string, err error) {
	t, err := d.task(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	decision := r.PostFormValue("decision")
	switch {
	case t.Here:
		return t.Link(), nil // the button was pressed twice
	case decision != "" && !slices.Contains(task.Decisions, decision):
		return "", &problem{http.StatusBadRequest, "Invalid decision: must be done, repeat or skip.", "Go back and use one of the buttons."}
	case r.PostFormValue("seen") != t.Seen:
		return "", &problem{http.StatusConflict, "The task or one of its servers changed after you loaded the page, so nothing was done.", "Review the task, then try again if you still want to."}
	case t.Active:
		return "", &problem{http.StatusConflict, "This task is running in another process.", "Stop it first, or wait for it to finish."}
	case !t.Resumable:
		return "", &problem{http.StatusConflict, "This task cannot be resumed.", "See its page for the reason."}
	case t.Undecided != nil && t.Stopped != nil && t.Stopped.Why == task.NeedsDecision && decision == "":
		return "", &problem{http.StatusConflict, "A call's outcome is unknown.", "Choose done, repeat or skip."}
	case t.Blocked:
		return "", &problem{http.StatusConflict, "One of this task's servers comes from a project, and it cannot be confirmed here. The task was not started.", "The task's page shows the command to run in a terminal."}
	case t.Foreign && !ticked(r):
		return "", &problem{http.StatusConflict, "One of this task's servers comes from a project. The task was not started.", "Read its entry, then check the box to allow it to start."}
	}
	store, err := d.tasks()
	if err != nil {
		return "", err
	}
	if decision != "" {
		if _, err := store.Decide(r.Context(), t.ID, decision); err != nil {
			return "", &problem{http.StatusConflict, redact.Passage(err.Error()), "Reload the task's page, then try again."}
		}
	}
	for _, s := range t.Servers {
		if s.Foreign {
			s.entry.Agreed()
		}
	}
	_, err = d.work.tasks.Go(d.watcher.life, store, t.ID, d.runOptions(), d.watcher.tell)
	if err != nil && !errors.Is(err, taskrun.ErrRunning) {
		return "", &problem{http.StatusServiceUnavailable, "The task was not started: " + err.Error() + ".", "Try again when another task has finished."}
	}
	return t.Link(), nil
}

// runOptions returns how a task is run. Of a project's servers it starts those that the user confirmed.
func (d *Dashboard) runOptions() taskrun.Options {
	o := d.Run
	o.Wrap.Timing.Timeout = cmp.Or(o.Wrap.Timing.Timeout, taskrun.CallTimeout)
	o.Tell = func(*task.State, task.Entry) { d.watcher.tell() }
	o.Configured = func(name, dir string) (launch.Spec, error) {
		f, err := d.fleet()
		if err != nil {
			return launch.Spec{}, err
		}
		return f.LaunchNamed(name, dir, nil)
	}
	return o
}

// stopPatience is how long a request waits for a task to stop. It stops in any case.
const stopPatience = 3 * time.Second

// stopTask stops a task, whichever process runs it.
func stopTask(d *Dashboard, r *http.Request) (next string, err error) {
	t, err := d.task(r.Context(), r.PathValue("id"))
	if err != nil || !t.Active {
		return taskLink(r.PathValue("id")), err
	}
	stopped := d.work.tasks.Stop(t.ID)
	if stopped == nil {
		if stopped, err = d.stopElsewhere(t.ID); err != nil {
			return "", err
		}
	}
	enough := time.NewTimer(stopPatience)
	defer enough.Stop()
	select {
	case <-stopped:
	case <-enough.C:
	case <-r.Context().Done():
	}
	return t.Link(), nil
}

// stopElsewhere asks the process that runs a task to stop it.
func (d *Dashboard) stopElsewhere(id string) (stopped <-chan struct{}, err error) {
	store, err := d.tasks()
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	return done, d.background(func(ctx context.Context) {
		defer d.watcher.tell()
		defer close(done)
		_, _ = store.Stop(ctx, id) // its page shows whether it stopped
	})
}
