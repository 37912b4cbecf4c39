package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// awaited is a writer that closes found when it has received a text.
type awaited struct {
	mu    sync.Mutex
	text  bytes.Buffer
	want  string
	found chan struct{}
}

func (a *awaited) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.Write(b)
	if a.want != "" && strings.Contains(a.text.String(), a.want) {
		a.want = ""
		close(a.found)
	}
	return len(b), nil
}

// A task is followed while a different goroutine runs it: it goes on only when its first step was
// shown.
func TestWatchFollowsARunningTask(t *testing.T) {
	t.Parallel()
	s, err := taskrun.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plan, err := task.Parse("x.yaml", []byte("servers: {s: a/b}\nsteps:\n  - {id: one, server: s, tool: echo}\n  - {id: two, server: s, tool: die}\n"))
	if err != nil {
		t.Fatal(err)
	}
	path, args, env := faultyserver.Command()
	server := task.Server{Command: append([]string{path}, args...), Env: map[string]string{}}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		server.Env[name] = value
	}
	plan.Servers["s"] = server
	id, err := s.Start(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	out := &awaited{want: "✓ one  s/echo", found: make(chan struct{})}
	started, ran := make(chan struct{}), make(chan error, 1)
	go func() {
		var once sync.Once
		_, err := s.Run(context.Background(), id, taskrun.Options{Tell: func(_ *task.State, e task.Entry) {
			once.Do(func() { close(started) })
			if e.Kind == task.KindOutcome {
				<-out.found
			}
		}})
		ran <- err
	}()
	<-started
	cmd := &cobra.Command{}
	cmd.SetOut(out)
	cmd.SetErr(&awaited{})
	err = watchTask(t.Context(), cmd, s, id, false)
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	var status exitStatus
	if !errors.As(err, &status) || status != 4 || !strings.Contains(out.text.String(), "stopped: needs-decision") {
		t.Errorf("%v\n%s", err, out.text.String())
	}
}

func TestTaskBar(t *testing.T) {
	s := &task.State{Plan: task.Plan{Goal: "x"}, Calls: []*task.Call{{Intent: task.Intent{Call: 1, Server: "s", Tool: "echo", Attempt: 1}}}}
	if got := taskcli.Bar(s); got != "1 call  call 1  s/echo" {
		t.Errorf("%q", got)
	}
	s.Stopped = &task.Stopped{}
	if got := taskcli.Bar(s); got != "" {
		t.Errorf("%q", got)
	}
}

// A task does not need the reader of its progress: gauze task run | head must not end it.
func TestTaskWithoutAReader(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	k.write("task.yaml", theServer+"steps: [{id: a, server: s, tool: append, arguments: {key: \"${x}\"}, for: 'x in [\"1\", \"2\", \"3\"]'}]\n")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd := k.command("run", "--yes", "task.yaml")
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Run()
	write.Close()
	if err != nil {
		t.Errorf("gauze task run: %v", err)
	}
	k.wantEffects("1", "2", "3")
}
