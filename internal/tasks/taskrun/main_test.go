package taskrun

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	runTaskIfAsked()
	os.Exit(m.Run())
}

// quick are settings with which a test sees in milliseconds what takes minutes.
func quick() proxy.Options {
	return proxy.Options{
		StartTimeout: time.Minute,
		Timing: proxy.Timing{Timeout: time.Minute, Patience: time.Minute,
			ProbeInterval: 50 * time.Millisecond, ProbeTimeout: 50 * time.Millisecond, HangGrace: 200 * time.Millisecond},
		Restart: upstream.Restart{Backoff: time.Millisecond, Cap: 2 * time.Millisecond, Open: time.Millisecond, OpenMax: 2 * time.Millisecond},
	}
}

// openLog opens the journal of a test in dir.
func openLog(dir string) (task.Log, func() error, error) {
	s, err := Open(filepath.Join(dir, "gauze"))
	if err != nil {
		return nil, nil, err
	}
	return s.log(), s.Close, nil
}

// bench is a directory with a plan, a ledger and a log.
type bench struct {
	t    *testing.T
	dir  string
	plan *task.Plan
	log  task.Log
}

const taskID = "test"

// begin writes the first entry of a task. In the steps, the server is called s; flags are those of
// the faulty server.
func begin(t *testing.T, steps string, flags ...string) *bench {
	t.Helper()
	dir := t.TempDir()
	log, closeLog, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeLog(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{t: t, dir: dir, log: log}
	plan, err := task.Parse("task.yaml", []byte("name: test\nservers: {s: a/b}\n"+steps))
	if err != nil {
		t.Fatal(err)
	}
	plan.Servers["s"] = b.server(flags...)
	b.plan = plan
	if err := task.Start(t.Context(), b.log, taskID, plan); err != nil {
		t.Fatal(err)
	}
	return b
}

// server returns a faulty server that shares the ledger and the state of all its generations.
func (b *bench) server(flags ...string) task.Server {
	flags = append([]string{"-ledger", b.ledger(), "-state", filepath.Join(b.dir, "state")}, flags...)
	path, args, env := faultyserver.Command(flags...)
	s := task.Server{Command: append([]string{path}, args...), Env: map[string]string{}}
	for _, pair := range env {
		key, value, _ := strings.Cut(pair, "=")
		s.Env[key] = value
	}
	return s
}

func (b *bench) ledger() string { return filepath.Join(b.dir, "ledger") }

// effects returns the keys of the effects, in order.
func (b *bench) effects() (keys []string) {
	b.t.Helper()
	entries, _, err := faultyserver.ReadLedger(b.ledger())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// wantOnce checks that each key has had its effect once, in this order.
func (b *bench) wantOnce(keys ...string) {
	b.t.Helper()
	if got := b.effects(); strings.Join(got, " ") != strings.Join(keys, " ") {
		b.t.Errorf("effects: %v\nwant: %v", got, keys)
	}
}

// run runs or resumes the task in this process.
func (b *bench) run(change func(*task.Runner, *Servers)) *task.State {
	b.t.Helper()
	return b.runIn(b.t.Context(), change)
}

func (b *bench) runIn(ctx context.Context, change func(*task.Runner, *Servers)) *task.State {
	b.t.Helper()
	servers := &Servers{Plan: b.plan.Servers, Wrap: quick()}
	defer servers.Close(nil)
	r := &task.Runner{ID: taskID, Log: b.log, Servers: servers, Backoff: time.Millisecond}
	if change != nil {
		change(r, servers)
	}
	s, err := r.Run(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// want checks how a task ended.
func (b *bench) want(s *task.State, status string, exit int) {
	b.t.Helper()
	if s.Status() != status || s.ExitStatus() != exit {
		b.t.Fatalf("the task is %s (exit status %d), want %s (%d)\n%s", s.Status(), s.ExitStatus(), status, exit, s.Report(taskID, time.Now()))
	}
}

func (b *bench) entries() []task.Entry {
	b.t.Helper()
	entries, err := b.log.Entries(b.t.Context(), taskID)
	if err != nil {
		b.t.Fatal(err)
	}
	return entries
}
