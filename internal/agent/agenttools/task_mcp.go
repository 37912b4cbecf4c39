package agenttools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/agent/mcpserver"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// protocolTasks are the tasks of the protocol. Each is one run of a task in the journal, because a
// task of the protocol that has ended cannot continue: ID is the first run, ID.2 the second. Their
// states are read from the journal, so they are the same in every process.
type protocolTasks struct{ svc *service }

// run is a run in the entries of a task: entries[begin:end], without what was decided after it.
type run struct{ begin, end int }

// runsIn returns the runs of a task. A process that continues a task which has only its first entry
// begins the first run.
func runsIn(entries []task.Entry) (all []run) {
	ended := false
	for i, e := range entries {
		if i == 0 || e.Kind == task.KindResumed && i > 1 {
			all, ended = append(all, run{begin: i}), false
		}
		if !ended {
			all[len(all)-1].end = i + 1
		}
		ended = ended || e.Kind == task.KindStopped || e.Kind == task.KindDone
	}
	return all
}

// nextRun returns the number of the run that would begin now.
func nextRun(entries []task.Entry) int {
	if len(entries) == 1 {
		return 1
	}
	return len(runsIn(entries)) + 1
}

// runID returns the id of a run in the protocol.
func runID(id string, number int) string {
	if number == 1 {
		return id
	}
	return fmt.Sprintf("%s.%d", id, number)
}

// Supports reports whether calls of the tool can be tasks.
func (p protocolTasks) Supports(tool string) bool { return tool == "run_task" || tool == "resume_task" }

// NewID returns the id of the run that a call would begin.
func (p protocolTasks) NewID(ctx context.Context, tool string, arguments json.RawMessage) string {
	var in struct {
		ID   string          `json:"id"`
		Plan json.RawMessage `json:"plan"`
	}
	_ = json.Unmarshal(arguments, &in) // the tool reports what is wrong with them
	if tool == "resume_task" && checkID(in.ID) == nil {
		if store, err := p.svc.tasks.open(); err == nil {
			if entries, err := store.Entries(ctx, in.ID); err == nil {
				return runID(in.ID, nextRun(entries))
			}
		}
	}
	text, name := []byte(in.Plan), ""
	if quoted := ""; json.Unmarshal(in.Plan, &quoted) == nil {
		text = []byte(quoted)
	}
	if len(text) <= maxPlanBytes {
		if plan, err := task.Parse("task", text); err == nil {
			name = plan.Name
		}
	}
	return taskrun.NewID(name)
}

// found is a run that exists.
type found struct {
	id      string // of its task
	number  int
	entries []task.Entry // of its task
	local   *backgroundRun
	running bool // here
}

// find returns the run with an id of the protocol.
func (p protocolTasks) find(ctx context.Context, handle string) (f found, err error) {
	store, err := p.svc.tasks.open()
	if err != nil {
		return f, err
	}
	if len(handle) > 2*64 {
		return f, errors.New("unknown task: its id is too long")
	}
	f.id, f.number = handle, 1
	base, rest, ok := strings.Cut(handle, ".")
	if ok {
		text, _, _ := strings.Cut(rest, ".") // ID.2.3 was the third attempt to begin the second run
		if n, err := strconv.Atoi(text); err == nil && n > 1 {
			f.id, f.number = base, n
		}
	}
	if f.local = p.svc.tasks.last(f.id); f.local != nil && f.local.number != f.number {
		f.local = nil
	}
	f.running = f.local != nil && f.local.Running() // before the entries: its last ones are among them
	f.entries, err = store.Entries(ctx, f.id)
	if len(f.entries) == 0 {
		return f, err
	}
	if f.number > len(runsIn(f.entries)) && f.local == nil {
		return f, fmt.Errorf("unknown task: %s has no run %d", f.id, f.number)
	}
	return f, nil
}

// Find returns a run as a task.
func (p protocolTasks) Find(ctx context.Context, handle string) (t mcpserver.Task, err error) {
	f, err := p.find(ctx, handle)
	if err != nil {
		return t, err
	}
	t = mcpserver.Task{ID: runID(f.id, f.number), Status: mcpserver.Working}
	runs := runsIn(f.entries)
	if f.number > len(runs) { // its first entry is not written yet, or could not be
		t.Created = f.entries[len(f.entries)-1].Time
		t.Updated = t.Created
		if !f.running {
			t.Status, t.Message = mcpserver.Failed, oneLine(fmt.Sprint("the run could not start: ", f.local.Err()))
		}
		return t, nil
	}
	at := runs[f.number-1]
	t.Created, t.Updated = f.entries[at.begin].Time, f.entries[at.end-1].Time
	c := p.svc.newCall(ctx, "get_task", new(mcpserver.Call))
	c.look()
	report, err := c.reportRun(f.id, "", f.number)
	if err != nil {
		return t, err
	}
	t.Status, t.Message = statusOf(TaskRun{Task: report})
	t.Message = c.hide(t.Message)
	return t, nil
}

// Result returns what run_task or resume_task returns at the end of a run.
func (p protocolTasks) Result(ctx context.Context, handle string) (json.RawMessage, error) {
	f, err := p.find(ctx, handle)
	if err != nil {
		return nil, err
	}
	c := p.svc.newCall(ctx, "get_task", new(mcpserver.Call))
	c.look()
	report, err := c.reportRun(f.id, "", f.number)
	if err != nil {
		return nil, err
	}
	return json.Marshal(c.answered(TaskRun{ActionStatus{Status: done}, report}))
}

// otherProcess is how often a task is looked at that a different process runs.
const otherProcess = 200 * time.Millisecond

// Wait waits until a run has ended.
func (p protocolTasks) Wait(ctx context.Context, handle string) error {
	for {
		t, err := p.Find(ctx, handle)
		if err != nil || t.Status != mcpserver.Working {
			return err
		}
		var done <-chan struct{}
		if f, err := p.find(ctx, handle); err == nil && f.local != nil {
			done = f.local.Done
		}
		select {
		case <-done:
		case <-time.After(otherProcess):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stop interrupts a run that began here with this id, and returns when its state is saved.
func (p protocolTasks) Stop(ctx context.Context, handle string) (bool, error) {
	r := p.svc.tasks.begunAs(handle)
	if r == nil {
		return false, nil
	}
	r.Stop()
	select {
	case <-r.Done:
		return true, nil
	case <-time.After(stopTimeout):
		return true, errors.New("the task is stopping, but its servers have not exited yet")
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// begunAs returns the run that began here with an id of the protocol, or nil.
func (t *tasks) begunAs(handle string) *backgroundRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.runs {
		if r.handle == handle {
			return r
		}
	}
	return nil
}

const tasksPerPage = 50

// List returns a page of runs, those of the newest tasks first. The cursor is the last task of the
// page before.
func (p protocolTasks) List(ctx context.Context, cursor string) (page []mcpserver.Task, next string, err error) {
	store, err := p.svc.tasks.open()
	if err != nil {
		return nil, "", err
	}
	all, err := store.List(ctx)
	if err != nil {
		return nil, "", err
	}
	sorting.Stable(all, func(a, b taskrun.Listed) int { return cmp.Or(begun(b).Compare(begun(a)), cmp.Compare(a.ID, b.ID)) })
	if cursor != "" {
		at := slices.IndexFunc(all, func(l taskrun.Listed) bool { return l.ID == cursor })
		if at < 0 {
			return nil, "", &mcpserver.Error{Code: mcpserver.CodeInvalidParams, Message: "invalid cursor: must be the nextCursor of an earlier result"}
		}
		all = all[at+1:]
	}
	if len(all) > tasksPerPage {
		all = all[:tasksPerPage]
		next = all[len(all)-1].ID
	}
	for _, l := range all {
		entries, _ := store.Entries(ctx, l.ID) // what is left of a damaged log
		for number := len(runsIn(entries)); number > 0; number-- {
			if t, err := p.Find(ctx, runID(l.ID, number)); err == nil {
				page = append(page, t)
			}
		}
	}
	return page, next, nil
}

func begun(l taskrun.Listed) time.Time {
	if l.State == nil {
		return time.Time{}
	}
	return l.State.Begun
}

// Outcome returns the status of a call of run_task or resume_task.
func (p protocolTasks) Outcome(result json.RawMessage) (mcpserver.Status, string) {
	var r struct {
		Run TaskRun `json:"structuredContent"`
	}
	_ = json.Unmarshal(result, &r) // we encoded it
	return statusOf(r.Run)
}

// statusOf returns the status of a run in the protocol, with one line that says why. A run that stopped
// has completed: its result says why it stopped and how to continue, which is a new call, and clients
// do not show the model the result of a task that failed. It does not require input: no answer to a
// request of ours would make it continue.
func statusOf(r TaskRun) (mcpserver.Status, string) {
	if r.Task == nil {
		return mcpserver.Completed, oneLine(r.Status + ": " + r.How)
	}
	text := r.Task.State
	if r.Task.Steps > 0 {
		text += fmt.Sprintf(", %d of %s done", r.Task.StepsDone, plural(r.Task.Steps, "step"))
	}
	if r.Task.Why != "" {
		text += ": " + r.Task.Why
	}
	status := mcpserver.Completed
	switch r.Task.State {
	case task.StatusRunning:
		status = mcpserver.Working
	case string(task.Interrupted):
		status = mcpserver.Cancelled
	case "killed":
		status = mcpserver.Failed
	}
	return status, oneLine(text)
}

const maxStatusBytes = 500

func oneLine(text string) string {
	return plaintext.Cap(strings.Join(strings.Fields(text), " "), maxStatusBytes)
}
