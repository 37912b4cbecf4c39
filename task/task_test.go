package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/task"
)

// The second step uses the result of the first. If the process ended here, ResumeTask would continue
// with the step that is not done.
func ExampleRun() {
	program, args, env := faultyserver.Command() // stands for: npx -y some-server
	plan, err := task.Parse("greet.yaml", []byte(`
name: greet
servers: {notes: cursor/notes}
steps:
  - {id: name, server: notes, tool: echo, arguments: {text: Ada}}
  - {id: greeting, server: notes, tool: echo, arguments: {text: "Hello, ${name.text}"}}
`))
	if err != nil {
		log.Fatal(err) // greet.yaml:4:5: ...
	}
	result, err := task.Run(context.Background(), plan, task.Options{
		Servers: map[string]gauze.Options{"notes": {Command: append([]string{program}, args...), Env: append(os.Environ(), env...)}},
	})
	if err == nil {
		err = result.Err() // why it stopped, and task.Resume continues it
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Calls[1].Text)
	// Output: done Hello, Ada
}

// errands is a task with a faulty server called s, and a ledger of its effects.
type errands struct {
	t   *testing.T
	dir string
}

// server returns the faulty server. All generations share a ledger and a state.
func (e errands) server(flags ...string) gauze.Options {
	program, args, env := faultyserver.Command(append([]string{"-ledger", filepath.Join(e.dir, "ledger"), "-state", filepath.Join(e.dir, "state")}, flags...)...)
	return gauze.Options{
		Command: append([]string{program}, args...), Env: append(os.Environ(), env...),
		Patience: time.Minute, StartTimeout: time.Minute,
		Restart: gauze.Restart{Backoff: time.Millisecond, Cap: 2 * time.Millisecond, Open: time.Millisecond, OpenMax: 2 * time.Millisecond},
	}
}

// with returns options with the faulty server.
func (e errands) with(o task.Options, flags ...string) task.Options {
	o.Servers = map[string]gauze.Options{"s": e.server(flags...)}
	return o
}

// effects returns the keys of the effects, in order.
func (e errands) effects() (keys []string) {
	e.t.Helper()
	entries, _, err := faultyserver.ReadLedger(filepath.Join(e.dir, "ledger"))
	if err != nil {
		e.t.Fatal(err)
	}
	for _, one := range entries {
		keys = append(keys, one.Key)
	}
	return keys
}

func (e errands) killServer() {
	e.t.Helper()
	entries, _, err := faultyserver.ReadLedger(filepath.Join(e.dir, "ledger"))
	if err != nil {
		e.t.Fatal(err)
	}
	process, err := os.FindProcess(entries[len(entries)-1].PID)
	if err != nil {
		e.t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		e.t.Fatal(err)
	}
}

// appends returns a plan with n steps that each add a key.
func appends(n int) (plan task.Plan, keys []string) {
	for i := range n {
		key := fmt.Sprintf("k%d", i)
		keys = append(keys, key)
		plan.Steps = append(plan.Steps, task.Step{ID: "s" + key, Server: "s", Tool: "append", Arguments: map[string]string{"key": key}})
	}
	return plan, keys
}

// openLog opens a journal until the test ends.
func openLog(t *testing.T, dir string) *task.Log {
	t.Helper()
	l, err := task.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestTaskWhoseServerDiesIsResumed(t *testing.T) {
	e := errands{t, t.TempDir()}
	plan, keys := appends(12)
	state := t.TempDir()
	o := e.with(task.Options{Log: openLog(t, state)}, "-exit-at-start=skip=1,code=3")
	server, died := o.Servers["s"], make(chan struct{}, 100)
	server.Patience = 2 * time.Second
	server.OnEvent = func(e event.Event) {
		if e.Kind == event.Died {
			select {
			case died <- struct{}{}:
			default: // it dies at every start
			}
		}
	}
	o.Servers["s"] = server
	var seen []string
	o.OnProgress = func(p task.Progress) {
		seen = append(seen, p.Kind)
		if p.Kind == "outcome" && p.Done == 7 {
			e.killServer()
			<-died // what is sent before that is not known to be lost
		}
	}
	result, err := task.Run(t.Context(), plan, o)
	if err != nil {
		t.Fatal(err)
	}
	var stopped *task.StoppedError
	if result.Status != task.StatusServerDead || result.Done != 7 || result.Total != 12 || len(result.Remaining) != 5 || result.Server != "s" || result.Message == "" ||
		!errors.As(result.Err(), &stopped) || stopped.Result.ID != result.ID {
		t.Fatalf("%+v", result)
	}
	if !slices.Contains(seen, "verdict") || seen[len(seen)-1] != "stopped" {
		t.Errorf("progress: %v", seen)
	}
	// A different program continues it, with a server that works.
	o.Log.Close()
	other := openLog(t, state)
	if now, err := other.Task(t.Context(), result.ID); err != nil || now.Status != task.StatusServerDead {
		t.Errorf("%+v, %v", now, err)
	}
	for range 2 { // resuming twice equals resuming once
		result, err = task.Resume(t.Context(), result.ID, e.with(task.Options{Log: other}))
		if err != nil || result.Err() != nil || result.Done != 12 {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	if got := e.effects(); !slices.Equal(got, keys) {
		t.Errorf("effects %v, want %v", got, keys)
	}
}

// script answers with each text in turn.
type script struct {
	mu      sync.Mutex
	answers []string
}

func (s *script) Name() string { return "script" }

func (s *script) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) == 0 {
		return llm.Answer{}, errors.New("no more answers")
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return llm.Answer{JSON: json.RawMessage(next), Usage: llm.Usage{InputTokens: 10, OutputTokens: 1}}, nil
}

func TestModelChoosesTheCallsOfATask(t *testing.T) {
	e := errands{t, t.TempDir()}
	model := &script{answers: []string{
		`{"action":"call","server":"s","tool":"append","arguments":"{\"key\":\"chosen\"}","reason":""}`,
		`{"action":"done","server":"","tool":"","arguments":"","reason":"It is written."}`,
	}}
	result, err := task.Run(t.Context(), task.Plan{Name: "write", Goal: "Write the key."}, e.with(task.Options{Model: model}))
	if err != nil || result.Err() != nil || result.Message != "It is written." || result.Spent.Tokens != 22 || result.ID != "" || result.Total != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := e.effects(); !slices.Equal(got, []string{"chosen"}) {
		t.Errorf("effects %v", got)
	}
	if _, err := task.Run(t.Context(), task.Plan{Goal: "Write the key."}, e.with(task.Options{})); err == nil || !strings.Contains(err.Error(), "task.Options.Model") {
		t.Errorf("without a model: %v", err)
	}
}

func TestInterruptedTaskIsDecidedAndResumed(t *testing.T) {
	e := errands{t, t.TempDir()}
	o := e.with(task.Options{Log: task.NewLog()})
	plan := task.Plan{Steps: []task.Step{
		{ID: "first", Server: "s", Tool: "hang_unsafe", Arguments: map[string]any{"key": "once"}},
		{ID: "second", Server: "s", Tool: "append", Arguments: map[string]any{"key": "last"}},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	o.OnProgress = func(p task.Progress) {
		if p.Kind == "intent" {
			cancel()
		}
	}
	result, err := task.Run(ctx, plan, o)
	if err != nil || result.Status != task.StatusInterrupted && result.Status != task.StatusNeedsDecision || result.ID == "" {
		t.Fatalf("%+v, %v", result, err)
	}
	o.OnProgress = nil
	result, err = task.Resume(t.Context(), result.ID, o)
	if err != nil || result.Status != task.StatusNeedsDecision || result.Step != "first" {
		t.Fatalf("%+v, %v", result, err)
	}
	if err := o.Log.Decide(t.Context(), result.ID, "perhaps"); err == nil {
		t.Error("an invalid decision is accepted")
	}
	if err := o.Log.Decide(t.Context(), result.ID, task.DecisionSkip); err != nil {
		t.Fatal(err)
	}
	result, err = task.Resume(t.Context(), result.ID, o)
	if err != nil || result.Err() != nil || result.Calls[0].Decision != task.DecisionSkip {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := e.effects(); got[len(got)-1] != "last" || len(got) > 2 {
		t.Errorf("effects %v", got)
	}
}

func TestInvalidTasks(t *testing.T) {
	server := map[string]task.Server{"s": {Command: []string{"server"}}}
	mixed := map[string]task.Server{"s": {URL: "http://localhost/mcp", Dir: "/"}}
	unset := map[string]task.Server{"s": {Command: []string{"x"}, Env: map[string]string{"KEY": "${GAUZE_TEST_NOT_SET}"}}}
	step := task.Step{ID: "a", Server: "s", Tool: "echo"}
	for _, test := range []struct {
		plan  task.Plan
		field string
		want  string
	}{
		{task.Plan{}, "Servers", "server"},
		{task.Plan{Servers: server}, "Goal", "goal"},
		{task.Plan{Servers: server, Steps: []task.Step{step, {ID: "b", Server: "s"}}}, "Steps[1]", "no tool"},
		{task.Plan{Servers: server, Steps: []task.Step{step, step}}, "Steps[1]", "used twice"},
		{task.Plan{Servers: server, Steps: []task.Step{{ID: "a", Server: "t", Tool: "echo"}}}, "Steps[0]", "unknown server"},
		{task.Plan{Servers: server, Steps: []task.Step{{ID: "a", Server: "s", Tool: "echo", Arguments: []string{"x"}}}}, "Steps[0]", "mapping"},
		{task.Plan{Servers: server, Steps: []task.Step{{ID: "a", Server: "s", Tool: "echo", Arguments: func() {}}}}, "Steps[0]", "JSON"},
		{task.Plan{Servers: server, Steps: []task.Step{{ID: "a", Server: "s", Tool: "echo", Attempts: -1}}}, "Steps[0]", "invalid Attempts: "},
		{task.Plan{}, "Servers", "gauze: invalid task.Plan.Goal: goal must not be empty"},
		{task.Plan{Servers: server, Steps: []task.Step{step, step}}, "Steps[1]", "choose another id here or in Steps[0]"},
		{task.Plan{Servers: mixed, Steps: []task.Step{step}}, "Servers", "but Env and Dir apply"},
		{task.Plan{Servers: unset, Steps: []task.Step{step}},
			`Servers["s"]`, `gauze: invalid task.Plan.Servers["s"]: env KEY: the environment variable GAUZE_TEST_NOT_SET is not set`},
		{task.Plan{Servers: server, Steps: []task.Step{step}, Budget: task.Budget{Time: -1}}, "Budget", "time"},
		{task.Plan{Servers: map[string]task.Server{"s": {}}, Steps: []task.Step{step}}, "Servers", "command or url"},
	} {
		_, err := task.Run(t.Context(), test.plan, task.Options{})
		var invalid *task.PlanError
		if !errors.As(err, &invalid) || invalid.Problems[0].Field != test.field || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s: %s", test.plan, err, test.field, test.want)
		}
	}
	_, err := task.Parse("x.yaml", []byte("servers: {s: a/b}\nsteps:\n  - {id: a, server: s}\n"))
	var invalid *task.PlanError
	if !errors.As(err, &invalid) || invalid.Problems[0].Line != 3 || !strings.HasPrefix(err.Error(), "x.yaml:3:") {
		t.Errorf("%v", err)
	}
	if _, err := task.Resume(t.Context(), "x", task.Options{}); err == nil {
		t.Error("a task without a log is resumed")
	}
	if _, err := task.Resume(t.Context(), "x", task.Options{Log: task.NewLog()}); err == nil {
		t.Error("an unknown task is resumed")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := task.Run(ended, task.Plan{Servers: server, Steps: []task.Step{step}}, task.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A plan that was read from a file is the same plan when it is run.
func TestParsedTaskIsUnchanged(t *testing.T) {
	text := `{"name":"x","goal":"g","servers":{"a":{"command":["p","1"],"env":{"K":"v"},"cwd":"/d"},"b":{"url":"http://localhost:1/mcp"},"c":"cursor/notes"},
"steps":[{"id":"one","server":"a","tool":"t","arguments":{"n":12345678901234567890,"s":"x"},"on-error":{"retry":3,"then":"continue"}},
{"id":"two","server":"c","tool":"t","when":["exists ${one.text}"],"for":"i in ${one.json.list}","on-error":"continue"}],"budget":{"steps":5,"time":"1m30s","tokens":7,"cost":0.5}}`
	plan, err := task.Parse("x.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := task.PlanDocument(plan)
	if err != nil {
		t.Fatal(err)
	}
	var before, after any
	for text, into := range map[string]*any{text: &before, string(encoded): &after} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := json.Marshal(before)
	b, _ := json.Marshal(after)
	if string(a) != string(b) {
		t.Errorf("before %s\nafter  %s", a, b)
	}
}

func TestManyTasksShareALog(t *testing.T) {
	for name, l := range map[string]*task.Log{"memory": task.NewLog(), "journal": openLog(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			var running sync.WaitGroup
			var mu sync.Mutex
			ids := map[string]bool{}
			for range 8 {
				running.Go(func() {
					e := errands{t, t.TempDir()}
					plan, keys := appends(3)
					result, err := task.Run(t.Context(), plan, e.with(task.Options{Log: l}))
					if err != nil || result.Err() != nil || !slices.Equal(e.effects(), keys) {
						t.Errorf("%+v, %v, effects %v", result, err, e.effects())
					}
					mu.Lock()
					defer mu.Unlock()
					ids[result.ID] = true
				})
			}
			running.Wait()
			if len(ids) != 8 {
				t.Errorf("%d ids", len(ids))
			}
		})
	}
}

func TestTaskRunsOnce(t *testing.T) {
	for name, l := range map[string]*task.Log{"memory": task.NewLog(), "journal": openLog(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			e := errands{t, t.TempDir()}
			plan, keys := appends(2)
			o := e.with(task.Options{Log: l})
			var second error
			o.OnProgress = func(p task.Progress) {
				if p.Kind == "intent" {
					_, second = task.Resume(t.Context(), p.ID, e.with(task.Options{Log: l}))
				}
			}
			result, err := task.Run(t.Context(), plan, o)
			if err != nil || result.Err() != nil || !errors.Is(second, task.ErrRunning) {
				t.Fatalf("%+v, %v, second %v", result, err, second)
			}
			if got := e.effects(); !slices.Equal(got, keys) {
				t.Errorf("effects %v", got)
			}
		})
	}
}

// What a task starts is in its log, so no other user may be able to write to it.
func TestALogBelongsToItsUser(t *testing.T) {
	windowstest.Skip(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	log, err := task.OpenLog(dir)
	if err == nil {
		log.Close()
	}
	want := "other users can write to gauze's state directory " + dir + " (mode 0777) and could control what gauze starts"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// After Close, every method says that the log was closed.
func TestAClosedLogSaysSo(t *testing.T) {
	log, err := task.OpenLog(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	plan := task.Plan{Servers: map[string]task.Server{"s": {Command: []string{"x"}}}, Steps: []task.Step{{ID: "a", Server: "s", Tool: "t"}}}
	_, ran := task.Run(t.Context(), plan, task.Options{Log: log})
	_, resumed := task.Resume(t.Context(), "x", task.Options{Log: log})
	_, shown := log.Task(t.Context(), "x")
	decided := log.Decide(t.Context(), "x", task.DecisionSkip)
	for what, err := range map[string]error{"Run": ran, "Resume": resumed, "Task": shown, "Decide": decided} {
		if err == nil || err.Error() != "gauze: the log was closed: open it again with task.OpenLog" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
