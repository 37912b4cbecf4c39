package task

import (
	"context"
	"strings"
	"testing"
	"time"
)

// replan continues the task with a different list of steps, or says why it cannot.
func (o *one) replan(steps string) error {
	o.t.Helper()
	text := "name: test\nservers: {s: a/b}\nsteps: [" + steps + "]"
	if strings.Contains(steps, "servers:") {
		text = steps
	}
	plan, err := Parse("task.yaml", []byte(text))
	if err != nil {
		o.t.Fatal(err)
	}
	_, err = Replan(o.t.Context(), o.log, "id", plan)
	return err
}

const (
	stepA = "{id: a, server: s, tool: write, arguments: {n: 1}}"
	stepB = "{id: b, server: s, tool: set, arguments: {n: 2}}"
	stepC = "{id: c, server: s, tool: read, arguments: {n: 3}}"
)

// rejects answers calls with these arguments with an error.
func rejects(arguments string) func(context.Context, string, string) Reply {
	return func(_ context.Context, _, got string) Reply {
		if got == arguments {
			return failed("no")
		}
		return says(`{"x": 5}`)
	}
}

// A corrected file applies to the steps that are not done, and nothing that is done happens again.
func TestReplan(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		calls         []string // in all
	}{
		"the step that failed": {stepA + "," + stepB + "," + stepC, stepA + ", {id: b, server: s, tool: set, arguments: {n: 7}}," + stepC,
			[]string{`write {"n":1}`, `set {"n":2}`, `set {"n":7}`, `read {"n":3}`}},
		"its tool": {stepA + "," + stepB, stepA + ", {id: b, server: s, tool: write, arguments: {n: 4}}",
			[]string{`write {"n":1}`, `set {"n":2}`, `write {"n":4}`}},
		"it is renamed":           {stepA + "," + stepB, stepA + ", {id: other, server: s, tool: read}", []string{`write {"n":1}`, `set {"n":2}`, `read {}`}},
		"it is removed":           {stepA + "," + stepB + "," + stepC, stepA + "," + stepC, []string{`write {"n":1}`, `set {"n":2}`, `read {"n":3}`}},
		"everything after a":      {stepA + "," + stepB, stepA, []string{`write {"n":1}`, `set {"n":2}`}},
		"a step before it":        {stepA + "," + stepB, stepA + "," + stepC + ", {id: b, server: s, tool: set}", []string{`write {"n":1}`, `set {"n":2}`, `read {"n":3}`, `set {}`}},
		"it becomes a loop":       {stepA + "," + stepB, stepA + ", {id: b, server: s, tool: set, for: 'i in [8, 9]', arguments: {n: '${i}'}}", []string{`write {"n":1}`, `set {"n":2}`, `set {"n":8}`, `set {"n":9}`}},
		"a loop becomes a step":   {"{id: b, server: s, tool: set, for: 'i in [2]', arguments: {n: '${i}'}}", "{id: b, server: s, tool: set}, {id: c, server: s, tool: read, arguments: {x: '${b.json.x}'}}", []string{`set {"n":2}`, `set {}`, `read {"x":5}`}},
		"a value was missing":     {stepA + ", {id: b, server: s, tool: read, arguments: {x: '${a.json.y}'}}", stepA + ", {id: b, server: s, tool: read, arguments: {x: '${a.json.x}'}}", []string{`write {"n":1}`, `read {"x":5}`}},
		"a name was misspelt":     {stepA + ", {id: b, server: s, tool: raed}", stepC, []string{`read {"n":3}`}},
		"the rest of a loop":      {"{id: b, server: s, tool: set, for: 'i in [1, 2, 3]', arguments: {n: '${i}'}}", "{id: b, server: s, tool: set, for: 'i in [1, 2, 3]', arguments: {m: '${i}'}}", []string{`set {"n":1}`, `set {"n":2}`, `set {"m":2}`, `set {"m":3}`}},
		"on-error of a done step": {stepA + "," + stepB, "{id: a, server: s, tool: write, arguments: {n: 1}, on-error: retry}, {id: b, server: s, tool: set}", []string{`write {"n":1}`, `set {"n":2}`, `set {}`}},
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, "steps: ["+test.before+"]", rejects(`{"n":2}`))
			o.wantStatus("failed", 1)
			if err := o.replan(test.after); err != nil {
				t.Fatal(err)
			}
			if s := o.state(t, 0); !s.Resumable() {
				t.Error("a task with a corrected file cannot be resumed")
			}
			if err := o.replan(test.after); err != nil { // its process was killed before it resumed the task
				t.Fatal(err)
			}
			s := o.wantStatus("done", 0)
			o.wantCalls(test.calls...)
			if again, err := Fold(o.log.entries); err != nil || again.Status() != s.Status() || again.Describe(o.log.entries[0]) == "" {
				t.Error(again, err)
			}
		})
	}
}

// What is done, and what may have had its effect, cannot be changed.
func TestReplanIsRefused(t *testing.T) {
	loop := func(over, arguments string) string {
		return "{id: b, server: s, tool: set, for: 'i in " + over + "', arguments: {" + arguments + "}}"
	}
	for name, test := range map[string]struct {
		before, after string
		answer        func(context.Context, string, string) Reply
		says          string
	}{
		"a step that is done is changed": {stepA + "," + stepB, "{id: a, server: s, tool: write, arguments: {n: 7}}," + stepB, rejects(`{"n":2}`), `step "a" is done, so it must not change`},
		"a step that is done is removed": {stepA + "," + stepB, stepB, rejects(`{"n":2}`), `step "a" is done`},
		"a step is put before it":        {stepA + "," + stepB, stepC + "," + stepA + "," + stepB, rejects(`{"n":2}`), `step "a" is done`},
		"the list of a loop":             {loop("[1, 2]", "n: '${i}'"), loop("[2]", "n: '${i}'"), rejects(`{"n":2}`), `step "b" has started, so its id and its loop (for) must not change`},
		"the outcome is unknown":         {stepA + "," + stepC, "{id: a, server: s, tool: write}," + stepC, always(lost(Unknown)), `it is unknown whether the call in step "a" took effect, so the step must not change`},
		"the call was refused":           {stepA, "{id: a, server: s, tool: write}", always(lost(Refused)), "it is unknown"},
		"a goal":                         {stepA, "servers: {s: a/b}\ngoal: x", rejects(`{"n":1}`), "has steps"},
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, "steps: ["+test.before+"]", test.answer)
			o.run()
			entries := len(o.log.entries)
			if err := o.replan(test.after); err == nil || !strings.Contains(err.Error(), test.says) || len(o.log.entries) != entries {
				t.Errorf("%v, want %s", err, test.says)
			}
		})
	}
	o := begin(t, "steps: ["+stepA+"]", always(says("ok")))
	o.wantStatus("done", 0)
	if err := o.replan(stepA + "," + stepB); err == nil || !strings.Contains(err.Error(), "is done") {
		t.Error(err)
	}
}

// A call whose outcome is unknown stays so under a file that corrects a later step.
func TestReplanKeepsTheUnknownCall(t *testing.T) {
	o := begin(t, "steps: ["+stepA+"]", always(lost(Unknown)))
	o.wantStatus("needs-decision", 4)
	if err := o.replan(stepA + "," + stepC); err != nil {
		t.Fatal(err)
	}
	o.answer = always(says("ok"))
	o.wantStatus("needs-decision", 4)
	if _, err := Decide(t.Context(), o.log, "id", "done"); err != nil {
		t.Fatal(err)
	}
	o.wantStatus("done", 0)
	o.wantCalls(`write {"n":1}`, `read {"n":3}`)
}

// A step that failed and was passed is not sent again.
func TestReplanDoesNotRepeatWhatWasPassed(t *testing.T) {
	const passed = "{id: a, server: s, tool: write, arguments: {n: 2}, on-error: continue}"
	o := begin(t, "steps: ["+passed+", {id: b, server: s, tool: read, arguments: {x: '${a.text}'}}]", rejects(`{"n":2}`))
	o.wantStatus("failed", 1)
	if err := o.replan(passed + "," + stepC); err != nil {
		t.Fatal(err)
	}
	o.wantStatus("done", 0)
	o.wantCalls(`write {"n":2}`, `read {"n":3}`)
}

// The servers of the corrected file are used, and the report says how to correct it.
func TestReplanCorrectsAServer(t *testing.T) {
	o := begin(t, "servers: {s: {command: [nosuch]}}\nsteps: ["+stepA+"]", always(says("ok")))
	o.r.Servers = &partly{o.fake, "s"}
	report := o.wantStatus("server-dead", 3).Report("id", time.Now())
	if !strings.Contains(report, "If you changed the file, add --file FILE.") || !strings.HasSuffix(report, "\ngauze task resume id\n") {
		t.Error(report)
	}
	if err := o.replan("servers: {s: {command: [server]}}\nsteps: [" + stepA + "]"); err != nil {
		t.Fatal(err)
	}
	if s := o.state(t, 0); s.Plan.Servers["s"].Command[0] != "server" {
		t.Errorf("%+v", s.Plan.Servers)
	}
	o.r.Servers = o.fake
	o.wantStatus("done", 0)
}
