package task

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
)

// A server that answered, but not usably, has most likely done what it was asked. A call that may be
// repeated has failed; any other waits for a person.
func TestUnusableAnswers(t *testing.T) {
	for _, test := range []struct {
		tool, fault, onError, status string
		exit, calls                  int
		resumable                    bool
	}{
		{"read", "response-invalid", "", "failed", 1, 1, true},
		{"read", "response-invalid", ", on-error: retry", "failed", 1, 3, true},
		{"read", "response-invalid", ", on-error: continue", "done", 0, 1, false},
		{"read", "response-too-large", ", on-error: retry", "failed", 1, 1, false},
		{"set", "response-invalid", ", on-error: retry", "failed", 1, 3, true},
		{"write", "response-invalid", ", on-error: retry", "needs-decision", 4, 1, true},
		{"write", "response-too-large", ", on-error: continue", "needs-decision", 4, 1, true},
	} {
		t.Run(test.tool+" "+test.fault+test.onError, func(t *testing.T) {
			o := begin(t, "steps: [{id: a, server: s, tool: "+test.tool+test.onError+"}]",
				always(Reply{Status: Lost, Delivery: Answered, Fault: test.fault, Text: "for a model", Report: "for a person"}))
			s := o.wantStatus(test.status, test.exit)
			if len(o.calls) != test.calls || s.Resumable() != test.resumable {
				t.Errorf("%d calls, resumable %v", len(o.calls), s.Resumable())
			}
			report := s.Report("id", time.Now())
			if strings.Contains(report, "for a model") || s.Done == nil && !strings.Contains(report, "Reported: for a person\n") {
				t.Error(report)
			}
			if test.tool == "write" && !strings.Contains(report, "most likely taken effect") {
				t.Error(report)
			}
		})
	}
}

// A task is resumed with a command, unless the step would fail in the same way: then the report says
// what to do instead.
func TestWhichTasksCanBeResumed(t *testing.T) {
	for name, test := range map[string]struct {
		steps     string
		answer    Reply
		resumable bool
	}{
		"the server failed":           {"{id: a, server: s, tool: read}", failed("no"), true},
		"the tool does not exist":     {"{id: a, server: s, tool: nosuch}", failed("unknown tool"), false},
		"the arguments are invalid":   {"{id: a, server: s, tool: read}", Reply{Status: Failed, Fault: "arguments-invalid"}, false},
		"a value does not exist":      {"{id: a, server: s, tool: read}, {id: b, server: s, tool: read, arguments: {x: '${a.json.x}'}}", says("{}"), false},
		"the outcome is not known":    {"{id: a, server: s, tool: write}", lost(Unknown), true},
		"the server is not reached":   {"{id: a, server: s, tool: read}", lost(Unsent), true},
		"a person is needed":          {"{id: a, server: s, tool: read}", failed("please log in first"), true},
		"an unlisted tool failed":     {"{id: a, server: s, tool: nosuch, unlisted: true}", failed("unknown tool"), false},
		"an unlisted tool was lost":   {"{id: a, server: s, tool: nosuch, unlisted: true}", lost(Unknown), true},
		"the loop is not over a list": {"{id: a, server: s, tool: read}, {id: b, server: s, tool: read, for: 'x in ${a.json}'}", says("{}"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, "steps: ["+test.steps+"]", always(test.answer)).run()
			report := s.Report("id", time.Now())
			last := report[strings.LastIndexByte(strings.TrimSuffix(report, "\n"), '\n')+1:]
			if s.Resumable() != test.resumable || (last == "gauze task resume id\n") != test.resumable || !test.resumable && last != "  gauze task resume --file FILE id\n" {
				t.Errorf("resumable: %v\n%s", s.Resumable(), report)
			}
		})
	}
}

// The report of a dead server says which task a change of the file applies to. A configured server is
// looked up again by a resume.
func TestReportOfADeadServerNamesTheFile(t *testing.T) {
	for server, says := range map[string]bool{"{command: [x]}": true, "{url: http://localhost}": true, "a/b": false} {
		o := begin(t, "servers: {s: "+server+"}\nsteps: [{id: a, server: s, tool: read}]", always(lost(Unsent)))
		report := o.wantStatus("server-dead", 3).Report("id", time.Now())
		if strings.Contains(report, "If you changed the file, add --file FILE.") != says || !strings.HasSuffix(report, "\ngauze task resume id\n") {
			t.Errorf("%s:\n%s", server, report)
		}
	}
}

// A plan without a budget ends as well: a server decides how long the lists are that loops are over.
func TestDefaultBudget(t *testing.T) {
	file := "%ssteps: [{id: a, server: s, tool: read}, {id: b, server: s, tool: read, for: 'x in ${a.json}', arguments: {x: '${x}'}}]"
	list := always(says("[" + strings.Repeat("0,", defaultSteps) + "0]"))
	plan := func(budget string) *State {
		return begin(t, fmt.Sprintf(file, budget), list).state(t, defaultSteps)
	}
	stop := plan("").overBudget()
	if stop == nil || !strings.Contains(stop.Message, "The budget of 10000 calls is used up. This is the default; to change it, set budget.steps in the file.") {
		t.Errorf("%+v", stop)
	}
	if stop := plan("budget: {steps: 20000}\n").overBudget(); stop != nil {
		t.Errorf("%+v", stop)
	}
}

// state returns the state of a task that made this many calls.
func (o *one) state(t *testing.T, calls int) *State {
	t.Helper()
	s, err := Fold(o.log.entries)
	if err != nil {
		t.Fatal(err)
	}
	s.Spent.Steps = calls
	return s
}

// What a server, a model or a file says cannot change the terminal, add lines or fill the screen.
func TestHostileTextIsShownSafely(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;owned\a\u202e\u009bfirst\r\ngauze task resume other\n" + strings.Repeat("long ", 5000)
	check := func(t *testing.T, o *one, s *State) {
		t.Helper()
		text := s.Report("id", time.Now())
		for _, e := range o.log.entries {
			line := s.Describe(e)
			if strings.Contains(line, "\n") {
				t.Errorf("more than a line: %q", line)
			}
			text += line + "\n"
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q is shown", text[i:min(len(text), i+20)])
		}
		for line := range strings.Lines(text) {
			if len(line) > 1200 || line == "gauze task resume other\n" {
				t.Errorf("a line of %d bytes: %.80q", len(line), line)
			}
		}
	}
	for name, reply := range map[string]Reply{
		"a failure": failed(hostile), "a fault": {Status: Lost, Delivery: Unknown, Text: hostile, Report: hostile}, "a result": says(hostile),
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(reply))
			check(t, o, o.run())
		})
	}
	t.Run("a server that is dead", func(t *testing.T) {
		o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(says("ok")))
		o.health = func() (s Situation) {
			s.Health, s.Detail, s.Remedy, s.Cause.Explanation = "dead", hostile, hostile, hostile
			return s
		}
		check(t, o, o.run())
	})
	t.Run("the names", func(t *testing.T) {
		quoted := fmt.Sprintf("%q", "\x1b[2Jx\u202e")
		o := begin(t, "name: "+quoted+"\nservers: {s: a/b}\nsteps: [{id: a, server: s, tool: "+quoted+"}]",
			func(context.Context, string, string) Reply { return failed("no") })
		check(t, o, o.run())
	})
}

// A decision whose process was killed before it resumed the task can be made again, also differently.
func TestDecideAfterAKilledDecide(t *testing.T) {
	for name, stopped := range map[string]bool{"after the task stopped": true, "after the task was killed": false} {
		for _, again := range Decisions {
			t.Run(name+" "+again, func(t *testing.T) {
				o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(lost(Unknown)))
				o.wantStatus("needs-decision", 4)
				if !stopped {
					o.log.entries = o.log.entries[:len(o.log.entries)-2] // the outcome, and that it stopped
				}
				o.answer = always(says("ok"))
				for _, decision := range []string{"done", again} {
					if _, err := Decide(t.Context(), o.log, "id", decision); err != nil {
						t.Fatal(err)
					}
				}
				o.wantStatus("done", 0)
				if calls := 1 + strings.Count(again, "repeat"); len(o.calls) != calls {
					t.Errorf("%d calls, want %d", len(o.calls), calls)
				}
				if _, err := Decide(t.Context(), o.log, "id", again); err == nil {
					t.Error("decided about a task that is done")
				}
			})
		}
	}
}

// A decision that the task acted on is final.
func TestDecisionIsFinalOnceTheTaskResumed(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: write}, {id: b, server: s, tool: write, arguments: {x: '${a.json.x}'}}]", always(lost(Unknown)))
	o.wantStatus("needs-decision", 4)
	if _, err := Decide(t.Context(), o.log, "id", "done"); err != nil {
		t.Fatal(err)
	}
	o.wantStatus("failed", 1) // there is no a.json
	if _, err := Decide(t.Context(), o.log, "id", "repeat"); err == nil {
		t.Error("a call that the task went on after was decided about again")
	}
}
