package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a log in memory.
type memory struct {
	mu      sync.Mutex
	entries []Entry
	full    bool // every write fails
}

func (m *memory) Append(_ context.Context, _ string, after int, entries ...Entry) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return 0, errors.New("the disk is full")
	}
	if len(m.entries) != after {
		return 0, fmt.Errorf("the log has %d entries, not %d", len(m.entries), after)
	}
	for _, e := range entries {
		e.Seq = len(m.entries) + 1
		m.entries = append(m.entries, e)
	}
	return len(m.entries), nil
}

func (m *memory) Entries(context.Context, string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Entry(nil), m.entries...), nil
}

// fake is a set of servers with the same tools. answer says what a call returns.
type fake struct {
	answer     func(ctx context.Context, tool string, arguments string) Reply
	health     func() Situation // nil: healthy
	lost       *Reply           // the tools cannot be listed
	reconnects int
	calls      []string
}

func (f *fake) Tools(context.Context, string) ([]Tool, *Reply) {
	if f.lost != nil {
		return nil, f.lost
	}
	var tools []Tool
	for _, name := range []string{"read", "set", "write"} {
		class := map[string]Class{"read": ReadOnly, "set": Idempotent, "write": Unsafe}[name]
		tools = append(tools, Tool{Name: name, Class: class, Shape: name})
	}
	return tools, nil
}

func (f *fake) Call(ctx context.Context, _, tool string, arguments json.RawMessage) Reply {
	f.calls = append(f.calls, tool+" "+string(arguments))
	return f.answer(ctx, tool, string(arguments))
}

func (f *fake) Situation(server string) Situation {
	s := Situation{}
	if f.health != nil {
		s = f.health()
	} else {
		s.Health = "healthy"
	}
	s.Server = server
	return s
}

func (f *fake) Reconnect(context.Context, string) { f.reconnects++ }

func says(text string) Reply   { return Reply{Status: OK, Text: text} }
func failed(text string) Reply { return Reply{Status: Failed, Text: text} }

// always answers every call in the same way.
func always(r Reply) func(context.Context, string, string) Reply {
	return func(context.Context, string, string) Reply { return r }
}

// one is a task in memory.
type one struct {
	*fake
	t   *testing.T
	log *memory
	r   *Runner
}

// begin starts a task with these steps, or with a whole file if it names servers.
func begin(t *testing.T, file string, answer func(context.Context, string, string) Reply) *one {
	t.Helper()
	if !strings.Contains(file, "servers:") {
		file = "name: test\nservers: {s: a/b}\n" + file
	}
	plan, err := Parse("task.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	o := &one{fake: &fake{answer: answer}, t: t, log: &memory{}}
	if err := Start(t.Context(), o.log, "id", plan); err != nil {
		t.Fatal(err)
	}
	o.r = &Runner{ID: "id", Log: o.log, Servers: o.fake, Backoff: time.Nanosecond}
	return o
}

func (o *one) run() *State {
	o.t.Helper()
	s, err := o.r.Run(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

// wantStatus runs the task and checks how it ends.
func (o *one) wantStatus(status string, exit int) *State {
	o.t.Helper()
	s := o.run()
	if s.Status() != status || s.ExitStatus() != exit {
		o.t.Fatalf("the task is %s (exit status %d), want %s (%d)\n%s", s.Status(), s.ExitStatus(), status, exit, s.Report("id", time.Now()))
	}
	return s
}

// wantCalls checks what was sent so far.
func (o *one) wantCalls(calls ...string) {
	o.t.Helper()
	if got := strings.Join(o.calls, "\n"); got != strings.Join(calls, "\n") {
		o.t.Errorf("calls:\n%s\nwant:\n%s", got, strings.Join(calls, "\n"))
	}
}
