package task

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A plan that calls a tool which its server does not list has no effect: all names are checked before
// the first call.
func TestToolNamesAreCheckedFirst(t *testing.T) {
	const servers = "servers: {s: a/b, other: a/c}\n"
	for name, test := range map[string]struct {
		steps string
		says  []string // empty: the task is done
	}{
		"a later step":          {"{id: a, server: s, tool: write}, {id: b, server: s, tool: wriet}", []string{`The server "s" does not list the tool "wriet", which step "b" calls; did you mean "write"?`}},
		"a different server":    {"{id: a, server: s, tool: write}, {id: b, server: other, tool: sett}", []string{`The server "other" does not list the tool "sett", which step "b" calls; did you mean "set"?`}},
		"nothing is similar":    {"{id: a, server: s, tool: xyzzy}", []string{`the tool "xyzzy", which step "a" calls. It lists read, set, write.`}},
		"several":               {"{id: a, server: s, tool: raed}, {id: b, server: s, tool: wriet}", []string{`step "a"`, `step "b"`}},
		"a step that continues": {"{id: a, server: s, tool: write}, {id: b, server: s, tool: wriet, on-error: continue}", []string{`step "b"`}},
		"one that comes later":  {"{id: a, server: s, tool: write}, {id: b, server: s, tool: appears, unlisted: true}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, servers+"steps: ["+test.steps+"]", always(says("ok")))
			if len(test.says) == 0 {
				o.wantStatus("done", 0)
				return
			}
			report := o.wantStatus("failed", 1).Report("id", time.Now())
			o.wantCalls()
			for _, want := range append(test.says, "unlisted: true", "0 calls") {
				if !strings.Contains(report, want) {
					t.Errorf("the report does not say %q:\n%s", want, report)
				}
			}
		})
	}
}

// A server that is dead at the start is not held against the others, and its names are checked before
// its first step.
func TestToolNamesOfAServerThatIsDeadAtFirst(t *testing.T) {
	o := begin(t, "servers: {s: a/b, down: a/c}\nsteps: [{id: a, server: s, tool: read}, {id: b, server: down, tool: write}, {id: c, server: down, tool: wriet}]", always(says("ok")))
	o.r.Servers = &partly{o.fake, "down"}
	o.wantStatus("server-dead", 3)
	o.wantCalls("read {}")
	o.r.Servers = o.fake
	if s := o.wantStatus("failed", 1); !strings.Contains(s.Stopped.Message, `step "c"`) {
		t.Error(s.Stopped.Message)
	}
	o.wantCalls("read {}")
}

// A list that is empty or of many names: one says nothing, the other is shortened.
func TestListsThatAreEmptyOrLong(t *testing.T) {
	steps := []Step{{ID: "a", Server: "s", Tool: "xyzzy"}}
	if text := unlisted(steps, "s", nil); text != "" {
		t.Error(text)
	}
	var tools []Tool
	for i := range 20 {
		tools = append(tools, Tool{Name: fmt.Sprintf("t%d", i)})
	}
	if text := unlisted(steps, "s", tools); !strings.HasSuffix(text, "It lists t0, t1, t2, t3, t4, t5, t6, t7 and 12 more.") {
		t.Error(text)
	}
}

// The names are checked by a loop that runs elsewhere as well.
func TestToolNamesApart(t *testing.T) {
	for steps, bad := range map[string]bool{"{id: a, server: s, tool: write}, {id: b, server: s, tool: wriet}": true, "{id: a, server: s, tool: write}, {id: b, server: s, tool: set}": false} {
		o := begin(t, "steps: ["+steps+"]", always(says("ok")))
		s := o.state(t, 0)
		entries, err := (&Runner{Servers: o.fake}).Act(t.Context(), s.Excerpt(s.Next(), time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		if last := entries[len(entries)-1].Kind; (last == KindStopped) != bad {
			t.Errorf("%s: the last entry is %s", steps, last)
		}
	}
}
