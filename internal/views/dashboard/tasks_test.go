package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// server returns a faulty server that records its effects, and in served that it was started.
func (s *site) server(served string) task.Server {
	command, args, env := faultyserver.Command("-ledger", s.path("ledger"), "-state", s.path(served))
	one := task.Server{Command: append([]string{command}, args...), Env: map[string]string{"API_TOKEN": secret, "DB_PASS": plainSecret}}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		one.Env[name] = value
	}
	return one
}

// configured returns the same server as an entry of a client.
func (s *site) configured(name, served string) string {
	one := s.server(served)
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: map[string]any{"command": one.Command[0], "args": one.Command[1:], "env": one.Env}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

const (
	secret      = "sk-live-0123456789abcdefXYZ"
	plainSecret = "battery staple" // only its name says that it is one
)

// start records a task with a step for each pair of a tool and a key.
func (s *site) start(name string, server task.Server, steps ...string) (id string) {
	s.t.Helper()
	store, err := taskrun.Open(s.path("state"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	plan := &task.Plan{Name: name, Servers: map[string]task.Server{"n": server}}
	for i, step := range steps {
		tool, key, _ := strings.Cut(step, " ")
		plan.Steps = append(plan.Steps, task.Step{ID: fmt.Sprintf("s%d", i), Server: "n", Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"key":%[1]q,"note":"about %[1]s","password":"hunter2hunter2"}`, key))})
	}
	if id, err = store.Start(s.t.Context(), plan); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// run runs a task as a different process would.
func (s *site) run(ctx context.Context, id string) {
	s.t.Helper()
	store, err := taskrun.Open(s.path("state"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Run(ctx, id, taskrun.Options{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) effects() (keys []string) {
	s.t.Helper()
	if !s.exists("ledger") {
		return nil
	}
	entries, _, err := faultyserver.ReadLedger(s.path("ledger"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// ended waits until no one runs a task, and returns its page.
func (s *site) ended(id string) (page string) {
	s.t.Helper()
	s.until(func() bool {
		page = s.get("/tasks/"+id, 200)
		return !strings.Contains(page, "/stop\"")
	})
	return page
}

func TestTasksAreListedAndDecided(t *testing.T) {
	s := newSite(t)
	has(t, s.get("/tasks", 200), "gauze task run FILE")
	if s.exists("state") {
		t.Error("a page created the state directory")
	}
	id := s.start("Weekly <b>report</b>", s.server("served"), "append a", "die b; "+plainSecret, "append c")
	has(t, s.get("/tasks", 200), "killed", "0 of 3<", id)
	s.run(t.Context(), id)
	has(t, s.get("/tasks", 200), "needs-decision", "1 of 3<", "Weekly &lt;b&gt;report")

	link := "/tasks/" + id
	page := s.get(link, 200)
	has(t, page, "It is unknown whether the call", "<code>die</code>", "&#34;about b; ", `value="skip"`, "stopped: needs-decision", "s0  n/append")
	lacks(t, page, secret, plainSecret, "hunter2hunter2", "<b>report")
	seen := hidden(t, page, "seen")
	for _, refused := range []struct {
		status         int
		seen, decision string
	}{{409, seen, ""}, {400, seen, "perhaps"}, {409, "0123", "skip"}, {409, "", "skip"}} {
		s.post(link+"/resume", refused.status, "seen", refused.seen, "decision", refused.decision)
	}
	if got := s.effects(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("effects before the decision: %v", got)
	}
	if to := s.post(link+"/resume", 303, "seen", seen, "decision", "skip"); to != link {
		t.Errorf("redirected to %s", to)
	}
	has(t, s.ended(id), "decision for call 2: skip", "3 of 3", "✓")
	if got := s.effects(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("effects: %v", got)
	}
	has(t, s.post(link+"/resume", 409, "seen", seen, "decision", "skip"), "changed after you loaded the page")
	has(t, s.get("/tasks", 200), "done", "3 of 3<")
}

func TestTaskIsResumedOnceAndStopped(t *testing.T) {
	s := newSite(t)
	id := s.start("long", s.server("served"), "append a", "hang b")
	link := "/tasks/" + id
	seen := hidden(t, s.get(link, 200), "seen")
	s.post(link+"/resume", 303, "seen", seen)
	s.post(link+"/resume", 303, "seen", seen) // pressed twice
	s.until(func() bool { return strings.Contains(s.get(link, 200), "n/hang") })
	has(t, s.get(link, 200), "This dashboard is running it", link+"/stop")
	s.post(link+"/stop", 303)
	has(t, s.ended(id), "stopped: interrupted", "Resume")
	s.post(link+"/stop", 303) // it is not running

	s.post(link+"/resume", 303, "seen", hidden(t, s.get(link, 200), "seen"))
	s.until(func() bool { return strings.Count(s.get(link, 200), "n/hang") > 1 })
	s.d.Close()
	store, err := taskrun.Open(s.path("state"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if state, err := store.State(t.Context(), id); err != nil || state.Status() != "interrupted" || store.Running(id) {
		t.Errorf("after Close: %v %v", state.Status(), err)
	}
	if got := s.effects(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("effects: %v", got)
	}
}

func TestServerOfAProjectIsConfirmedBeforeATaskStartsIt(t *testing.T) {
	s := newSite(t)
	const file = "project/.cursor/mcp.json"
	s.write(file, s.configured("notes", "served"))
	id := s.start("errand", task.Server{Configured: "cursor/notes", Cwd: s.path("project")}, "append a")
	link := "/tasks/" + id
	page := s.get(link, 200)
	has(t, page, "One of this task", "servers comes from a project", "-ledger")
	seen := hidden(t, page, "seen")
	has(t, page, keptBox(seen))
	has(t, s.post(link+"/resume", 409, "seen", seen), "check the box")
	s.write(file, strings.Replace(s.read(file), "-ledger", "--ledger", 1))
	has(t, s.post(link+"/resume", 409, "seen", seen, "read", "yes"), "so nothing was done")
	if s.exists("ledger") || s.exists("served") {
		t.Fatal("the server was started without consent")
	}
	s.post(link+"/resume", 303, "seen", hidden(t, s.get(link, 200), "seen"), "read", "yes")
	has(t, s.ended(id), "1 of 1")
	if got := s.effects(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("effects: %v", got)
	}
}

func TestServerThatIsTooLongToReviewIsNotStartedByATask(t *testing.T) {
	s := newSite(t)
	const file = "project/.cursor/mcp.json"
	s.write(file, strings.Replace(s.configured("notes", "served"), `"-ledger"`, `"`+strings.Repeat("x", 1<<20)+`", "-ledger"`, 1))
	id := s.start("errand", task.Server{Configured: "cursor/notes", Cwd: s.path("project")}, "append a")
	page := s.get("/tasks/"+id, 200)
	has(t, page, "It cannot be confirmed here", "too long to review")
	has(t, s.post("/tasks/"+id+"/resume", 409, "seen", hidden(t, page, "seen"), "read", "yes"), "The task was not started")
}

func TestUnknownTasks(t *testing.T) {
	s := newSite(t)
	s.get("/tasks/nosuch", 404)
	s.start("one", s.server("served"), "append a")
	for _, id := range []string{"nosuch", "%2e%2e%2f%2e%2e", "%3Cscript%3E", strings.Repeat("a", 5000), "a%00b"} {
		lacks(t, s.get("/tasks/"+id, 404), "<script>")
		s.post("/tasks/"+id+"/resume", 404, "seen", "x")
		s.post("/tasks/"+id+"/stop", 404)
	}
}
