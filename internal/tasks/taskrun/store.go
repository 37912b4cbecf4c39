package taskrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
)

// Store keeps tasks in the journal and runs them.
type Store struct {
	dir     string // the state directory
	journal *journal.Journal
	mu      sync.Mutex
	pruned  time.Time // when old tasks were last removed
}

// Open opens the journal in the state directory.
func Open(stateDir string) (*Store, error) {
	j, err := journal.Open(filepath.Join(stateDir, journal.FileName))
	if err != nil {
		return nil, err
	}
	return &Store{dir: stateDir, journal: j}, nil
}

// Close closes the journal.
func (s *Store) Close() error { return s.journal.Close() }

// Salvaged says what was lost if the journal was damaged and could be opened only in part. It is
// empty otherwise.
func (s *Store) Salvaged() string {
	if lost := s.journal.Salvaged(); lost != nil {
		return lost.String()
	}
	return ""
}

// Options is what a run needs besides the task. Every field may be zero.
type Options struct {
	Model      llm.Model
	Configured func(name, dir string) (launch.Spec, error)
	Sessions   map[string]proxy.Options // of servers that are not started as the plan says
	Wrap       proxy.Options
	Tell       func(*task.State, task.Entry)
	Observe    func(server string, e event.Event)
	Events     *event.Stream // receives the events of all servers, with the id of the task
	Hurry      <-chan struct{}
	Backoff    time.Duration // as of task.Runner
}

// Start records a new task and returns its id. Run runs it.
func (s *Store) Start(ctx context.Context, plan *task.Plan) (id string, err error) {
	id = newID(plan.Name)
	return id, s.StartAs(ctx, id, plan)
}

// StartAs records a new task with an id from NewID.
func (s *Store) StartAs(ctx context.Context, id string, plan *task.Plan) error {
	here, err := prepared(*plan)
	if err != nil {
		return err
	}
	s.prune(ctx, time.Now())
	return task.Start(ctx, s.log(), id, &here)
}

var unfit = regex.New(`[^a-z0-9]+`)

// maxName limits the part of an id that is the name of the task.
const maxName = 24

// newID returns an id that says which task it is.
func newID(name string) string {
	name = unfit.ReplaceAllString(strings.ToLower(name), "-")
	name = strings.Trim(name[:min(len(name), maxName)], "-")
	if name == "" {
		name = "task"
	}
	return name + "-" + strings.ToLower(rand.Text()[:6])
}

// Run runs or resumes a task until it is done or stops. Only one process runs a task at a time.
func (s *Store) Run(ctx context.Context, id string, o Options) (*task.State, error) {
	if _, err := s.Entries(ctx, id); err != nil && !errors.As(err, new(*journal.Damage)) {
		return nil, err // before there is a lock for it
	}
	unlock, err := s.journal.Lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	state, err := s.Runnable(ctx, id)
	if err != nil {
		return nil, err
	}
	ctx, done := s.untilStopped(ctx, id)
	defer done()
	return o.run(ctx, s.log(), id, state.Plan.Servers)
}

// Runnable returns a task as its log says, and an error if Run does not run it.
func (s *Store) Runnable(ctx context.Context, id string) (*task.State, error) {
	state, err := s.State(ctx, id)
	if errors.As(err, new(*journal.Damage)) {
		err = fmt.Errorf("the task cannot be resumed, because its log may lack a call that it made: %w\ngauze task show %s shows what is left of the log", err, id)
	}
	return state, err
}

// Decide records what a person decided about a call whose outcome is unknown.
func (s *Store) Decide(ctx context.Context, id, decision string) (*task.State, error) {
	if _, err := s.Entries(ctx, id); err != nil {
		return nil, err
	}
	unlock, err := s.journal.Lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return task.Decide(ctx, s.log(), id, decision)
}

// Replan records a corrected plan for the steps of a task that are not done.
func (s *Store) Replan(ctx context.Context, id string, plan *task.Plan) (*task.State, error) {
	if _, err := s.Entries(ctx, id); err != nil {
		return nil, err
	}
	here, err := prepared(*plan)
	if err != nil {
		return nil, err
	}
	unlock, err := s.journal.Lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return task.Replan(ctx, s.log(), id, &here)
}

// State returns a task as its log says.
func (s *Store) State(ctx context.Context, id string) (*task.State, error) {
	entries, err := s.Entries(ctx, id)
	if err != nil {
		return nil, err
	}
	return task.Fold(entries)
}

// Entries returns the log of a task.
func (s *Store) Entries(ctx context.Context, id string) ([]task.Entry, error) {
	entries, err := s.log().Entries(ctx, id)
	if err == nil && len(entries) == 0 {
		return nil, fmt.Errorf("unknown task %q; %s", redact.Quote(id), s.similar(ctx, id))
	}
	return entries, err
}

// similar suggests the task that was meant by an unknown id, or where to find it.
func (s *Store) similar(ctx context.Context, id string) string {
	heads, err := s.journal.Tasks(ctx)
	if err == nil {
		var ids []string
		for _, head := range heads {
			ids = append(ids, head.Task)
		}
		begin := slices.DeleteFunc(slices.Clone(ids), func(one string) bool { return id == "" || !strings.HasPrefix(one, id) })
		if len(begin) > 1 {
			return fmt.Sprintf("%d task IDs begin with it; the latest is %q", len(begin), begin[0])
		}
		if near := append(begin, plaintext.Nearest(id, ids)...); len(near) > 0 {
			return fmt.Sprintf("did you mean %q?", near[0])
		}
	}
	return "gauze task list shows all tasks"
}

// Running reports whether a process runs the task.
func (s *Store) Running(id string) bool { return s.journal.Running(id) }

// Listed is one task of a list.
type Listed struct {
	ID     string
	State  *task.State // nil if its log cannot be read
	Err    error
	Active bool // a process runs it
	Last   time.Time
}

// Trouble returns why State is nil, as one word: the log is damaged, or cannot be read.
func (l Listed) Trouble() string {
	switch {
	case l.State != nil:
		return ""
	case errors.As(l.Err, new(*journal.Damage)):
		return "damaged"
	}
	return "unreadable"
}

// List returns all tasks, newest first. Those of which a damaged journal kept nothing are last.
func (s *Store) List(ctx context.Context) ([]Listed, error) {
	heads, err := s.journal.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Listed, len(heads))
	for i, head := range heads {
		all[i] = Listed{ID: head.Task, Last: head.Last.Time, Active: s.Running(head.Task)}
		all[i].State, all[i].Err = s.State(ctx, head.Task)
	}
	lost, err := s.journal.LostTasks(ctx)
	for _, damage := range lost {
		all = append(all, Listed{ID: damage.Task, Err: damage})
	}
	return all, err
}

func (s *Store) log() task.Log { return journaled{s.journal} }

// journaled is the journal as a task.Log.
type journaled struct{ *journal.Journal }

func (j journaled) Append(ctx context.Context, id string, after int, entries ...task.Entry) (int, error) {
	out := make([]journal.Entry, len(entries))
	for i, e := range entries {
		out[i] = journal.Entry{Seq: e.Seq, Time: e.Time, Kind: e.Kind, Data: e.Data}
	}
	return j.Journal.Append(ctx, id, after, out...)
}

// Entries returns the intact entries. A log that is damaged comes with an error: what is missing may
// be a call.
func (j journaled) Entries(ctx context.Context, id string) ([]task.Entry, error) {
	entries, err := j.Journal.Entries(ctx, id)
	out := make([]task.Entry, len(entries))
	for i, e := range entries {
		out[i] = task.Entry{Seq: e.Seq, Time: e.Time, Kind: e.Kind, Data: e.Data}
	}
	return out, err
}
