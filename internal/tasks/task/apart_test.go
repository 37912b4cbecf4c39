package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// apart runs a task as a loop that has only the log: everything else happens with excerpts, which
// are sent as JSON.
func (o *one) apart() *State {
	o.t.Helper()
	s, err := Fold(o.log.entries)
	if err != nil {
		o.t.Fatal(err)
	}
	add := func(e Entry) {
		e.Seq = s.Seq + 1
		if err := s.Apply(e); err != nil {
			o.t.Fatal(err)
		}
		o.log.entries = append(o.log.entries, e)
	}
	for {
		d := s.Next()
		switch d.Do {
		case DoRest:
			return s
		case DoFinish:
			add(NewEntry(KindDone, Done{d.Summary}, time.Now()))
			continue
		}
		text, err := json.Marshal(s.Excerpt(d, time.Now()))
		if err != nil {
			o.t.Fatal(err)
		}
		var sent Excerpt
		if err := json.Unmarshal(text, &sent); err != nil {
			o.t.Fatal(err)
		}
		r := &Runner{Servers: o.fake, Model: o.r.Model, Backoff: time.Nanosecond}
		entries, err := r.Act(o.t.Context(), sent)
		if err != nil {
			o.t.Fatal(err)
		}
		for _, e := range entries {
			add(e)
			if e.Kind == KindIntent {
				i, err := read[Intent](e)
				if err != nil {
					o.t.Fatal(err)
				}
				add(NewEntry(KindOutcome, r.Send(o.t.Context(), i, s.Left(time.Now())), time.Now()))
			}
		}
	}
}

// story returns the entries without what differs between two runs.
func (o *one) story() (lines []string) {
	for _, e := range o.log.entries[1:] {
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			o.t.Fatal(err)
		}
		delete(data, "took")
		delete(data, "since")
		lines = append(lines, fmt.Sprint(e.Kind, data))
	}
	return lines
}

func TestLoopElsewhereDoesTheSame(t *testing.T) {
	fails := func(_ context.Context, tool, _ string) Reply {
		if tool == "write" {
			return failed("no")
		}
		return says(`{"list": [1, 2]}`)
	}
	dead := func() Situation {
		s := Situation{Detail: "it exited", Remedy: "Start it."}
		s.Health, s.Cause.Permanent, s.Cause.Confidence = "dead", true, 1
		return s
	}
	const steps = `
steps:
  - {id: a, server: s, tool: read}
  - {id: b, server: s, tool: set, for: "n in ${a.json.list}", arguments: {n: "${n}"}}
  - {id: c, server: s, tool: write, arguments: {t: "${a.text}"}, on-error: {retry: 2}}
`
	for name, begun := range map[string]func() *one{
		"done":   func() *one { return begin(t, steps, always(says(`{"list": [1, 2]}`))) },
		"failed": func() *one { return begin(t, steps, fails) },
		"lost":   func() *one { return begin(t, steps, always(Reply{Status: Lost, Delivery: Unknown, Text: "gone"})) },
		"budget": func() *one { return begin(t, steps+"budget: {steps: 2}\n", always(says(`{"list": [1, 2]}`))) },
		"dead": func() *one {
			o := begin(t, steps, fails)
			o.health = dead
			return o
		},
		"agent": func() *one {
			o, _ := agent(t, goal, always(says("ok")), call("read", `{"a":1}`), call("write", `{"x":1}`), modelDone)
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole, parts := begun(), begun()
			want, got := whole.run(), parts.apart()
			if got.Status() != want.Status() || !slices.Equal(whole.calls, parts.calls) {
				t.Fatalf("the task is %s after %q, want %s after %q", got.Status(), parts.calls, want.Status(), whole.calls)
			}
			if a, b := strings.Join(parts.story(), "\n"), strings.Join(whole.story(), "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

// What is forgotten does not change what a task does next.
func TestForget(t *testing.T) {
	steps := "steps:\n  - {id: first, server: s, tool: read}\n"
	for i := range 20 {
		steps += fmt.Sprintf("  - {id: s%d, server: s, tool: write, arguments: {n: %d}}\n", i, i)
	}
	o := begin(t, steps+"  - {id: last, server: s, tool: write, arguments: {t: \"${first.text}\"}}\n", always(says(strings.Repeat("x", 10_000))))
	o.run()
	before := o.log.entries[:len(o.log.entries)-3] // the last call is not sent yet
	s, err := Fold(before)
	if err != nil {
		t.Fatal(err)
	}
	after := s.Forget(before, 100_000)
	if len(after) != len(before) {
		t.Fatalf("%d entries of %d", len(after), len(before))
	}
	size := 0
	for _, e := range after {
		size += len(e.Data)
	}
	if size > 100_000 {
		t.Errorf("%d bytes are left", size)
	}
	kept, err := Fold(after)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := encodeDecision(t, s.Next()), encodeDecision(t, kept.Next()); string(got) != string(want) {
		t.Errorf("decided %.200s\nwant %.200s", got, want)
	}
	// If that is too much, the result that is missing is reported.
	if kept, err = Fold(s.Forget(before, 1000)); err != nil {
		t.Fatal(err)
	}
	if d := kept.Next(); d.Do != DoStop || !strings.Contains(d.Stop.Message, "was removed to make room") {
		t.Errorf("decided %+v", d)
	}
}
