package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/temporal/flow"
)

const heartbeat = 3 * time.Second

// bench is a task with a queue of its own, a server whose binary can be removed, and its ledger.
type bench struct {
	t                  *testing.T
	dir                string
	address, namespace string // of the Temporal server
	queue              string
	*flow.Client
}

// newBench returns a bench on the server that all tests share.
func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, server.GetFrontendHostPort(), server.GetDefaultNamespace(), server.GetDefaultClient())
}

func newBenchOn(t *testing.T, address, namespace string, c client.Client) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), address: address, namespace: namespace, queue: "queue-" + t.Name()}
	b.Client = &flow.Client{Temporal: c, Queue: b.queue, Timing: flow.Timing{Heartbeat: heartbeat}}
	b.repair()
	return b
}

// repair makes the server available, remove the opposite.
func (b *bench) repair() {
	b.t.Helper()
	if err := os.Symlink(filepath.Join(bin, "faultyserver"), b.binary()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remove() {
	b.t.Helper()
	if err := os.Remove(b.binary()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) binary() string { return filepath.Join(b.dir, "server") }
func (b *bench) ledger() string { return filepath.Join(b.dir, "ledger") }

// server returns the faulty server.
func (b *bench) server(flags ...string) task.Server {
	_, args, env := faultyserver.Command(append([]string{"-ledger", b.ledger(), "-state", filepath.Join(b.dir, "state")}, flags...)...)
	s := task.Server{Command: append([]string{b.binary()}, args...), Env: map[string]string{}}
	for _, pair := range env {
		key, value, _ := strings.Cut(pair, "=")
		s.Env[key] = value
	}
	return s
}

// plan parses steps that use the server s.
func (b *bench) plan(steps string) *task.Plan {
	b.t.Helper()
	plan, err := task.Parse("task.yaml", []byte("name: test\nservers: {s: a/b}\n"+steps))
	if err != nil {
		b.t.Fatal(err)
	}
	plan.Servers["s"] = b.server()
	return plan
}

func (b *bench) start(plan *task.Plan) string {
	b.t.Helper()
	id, err := b.Start(b.t.Context(), plan)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// appends returns n steps that append k1, k2 and so on, each of which takes ms after its effect.
func appends(n, ms int) (steps string, keys []string) {
	steps = "steps:\n"
	for i := 1; i <= n; i++ {
		key := fmt.Sprintf("k%d", i)
		steps += fmt.Sprintf("  - {id: %s, server: s, tool: append, arguments: {key: %s, ms: %d}}\n", key, key, ms)
		keys = append(keys, key)
	}
	return steps, keys
}

// effects returns the effects so far.
func (b *bench) effects() []faultyserver.Entry {
	b.t.Helper()
	entries, _, err := faultyserver.ReadLedger(b.ledger())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return entries
}

func (b *bench) keys() (keys []string) {
	b.t.Helper()
	for _, e := range b.effects() {
		keys = append(keys, e.Key)
	}
	return keys
}

func (b *bench) wantKeys(keys []string) {
	b.t.Helper()
	if got := b.keys(); !slices.Equal(got, keys) {
		b.t.Errorf("effects %q\nwant    %q", got, keys)
	}
}

// untilEffects returns when there are n effects.
func (b *bench) untilEffects(n int) []faultyserver.Entry {
	b.t.Helper()
	for look := time.NewTicker(5 * time.Millisecond); ; <-look.C {
		if all := b.effects(); len(all) >= n {
			look.Stop()
			return all
		}
		if b.t.Context().Err() != nil {
			b.t.Fatal("the test ended first")
		}
	}
}

// worker starts a worker in a process of its own.
func (b *bench) worker(args ...string) *exec.Cmd {
	b.t.Helper()
	t := b.t
	cmd := exec.Command(filepath.Join(bin, "gauze"), append([]string{"worker", "--temporal", b.address, "--namespace", b.namespace, "--queue", b.queue}, args...)...)
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+t.TempDir())
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.Contains(lines.Text(), "waiting for tasks") {
		t.Fatalf("the worker said %q", lines.Text())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		kill(t, cmd.Process)
		<-ended
		_ = cmd.Wait()
	})
	return cmd
}

// kill ends a process with SIGKILL. It may have ended before.
func kill(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// finish waits until the task is done. It decides about calls as the ledger says, and resumes the
// task when it stops for a different reason.
func (b *bench) finish(id string, after int) (decisions int) {
	b.t.Helper()
	ctx := b.t.Context()
	for {
		s, err := b.Wait(ctx, id, after, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		if s.Done != nil {
			return decisions
		}
		call := s.Undecided()
		if call == nil {
			b.t.Fatalf("the task is %s\n%s", s.Status(), s.Report(id, time.Now()))
		}
		decision := "repeat"
		if slices.ContainsFunc(b.keys(), func(key string) bool { return strings.Contains(string(call.Arguments), `"`+key+`"`) }) {
			decision = "done"
		}
		decisions++
		if after, err = b.Decide(ctx, id, decision); err != nil {
			b.t.Fatal(err)
		}
	}
}

// stopped waits until the task stops, and checks why.
func (b *bench) stopped(ctx context.Context, id string, why task.Why) *task.State {
	b.t.Helper()
	s, err := b.Wait(ctx, id, 0, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if s.Status() != string(why) {
		b.t.Fatalf("the task is %s, want %s\n%s", s.Status(), why, s.Report(id, time.Now()))
	}
	return s
}
