package task

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestParse(t *testing.T) {
	yaml := `
name: weekly report
servers:
  notes: cursor/notes
  files: {command: [npx, -y, server, 1], env: {DEBUG: true, PORT: 80}, cwd: sub}
  web: {url: "https://example.com/mcp"}
steps:
  - id: list
    server: notes
    tool: list_notes
  - id: read
    server: files
    tool: read
    for: note in ${list.json.notes}
    when:
      - ${note.archived} != true
      - exists ${note.path}
    arguments: {path: "${note.path}", lines: 10, deep: [{text: "$${x} and ${list.text}"}]}
    on-error: {retry: 5, then: continue}
budget: {steps: 100, time: 10m, tokens: 1000, cost: 0.5}
`
	plan, err := Parse("task.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"weekly report","servers":{"files":{"command":["npx","-y","server","1"],"env":{"DEBUG":"true","PORT":"80"},"cwd":"sub"},` +
		`"notes":{"configured":"cursor/notes"},"web":{"url":"https://example.com/mcp"}},"steps":[{"id":"list","server":"notes","tool":"list_notes"},` +
		`{"id":"read","server":"files","tool":"read","arguments":{"deep":[{"text":"$${x} and ${list.text}"}],"lines":10,"path":"${note.path}"},` +
		`"when":["${note.archived} != true","exists ${note.path}"],"for":"note in ${list.json.notes}","on-error":{"attempts":5,"continue":true}}],` +
		`"budget":{"steps":100,"time":600000000000,"tokens":1000,"cost":0.5}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// JSON is read with the same rules, and strings keep every character.
func TestParseJSON(t *testing.T) {
	plan, err := Parse("task.json", []byte("{\"servers\": {\"s\": {\"url\": \"http://localhost\"}},\n\t\"steps\": [{\"id\": \"a\", \"server\": \"s\", \"tool\": \"t\", \"arguments\": {\"x\": \"\\ud83d\\ude00 \\u0007\", \"n\": 12345678901234567890}}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(plan.Steps[0].Arguments); !strings.Contains(got, "😀") || !strings.Contains(got, "12345678901234567890") || plan.Name != "task" {
		t.Errorf("name %q, arguments %s", plan.Name, got)
	}
}

// A byte order mark and the line ends of Windows change nothing, and columns are counted without them.
func TestParseFilesOfWindows(t *testing.T) {
	text := "\ufeffservers: {s: a/b}\r\nsteps:\r\n  - id: a\r\n    server: s\r\n    tool: t\r\n"
	if plan, err := Parse("task.yaml", []byte(text)); err != nil || len(plan.Steps) != 1 || plan.Steps[0].Tool != "t" {
		t.Errorf("%+v, %v", plan, err)
	}
	if _, err := Parse("task.json", []byte("\ufeff{\"servers\": {\"s\": \"a/b\"}, \"steps\": [{\"id\": \"a\", \"server\": \"s\", \"tool\": \"t\"}]}\r\n")); err != nil {
		t.Error(err)
	}
	if _, err := Parse("task.yaml", []byte("\ufeffserver: {}\r\n")); err == nil || !strings.Contains(err.Error(), "task.yaml:1:1: ") {
		t.Error(err)
	}
}

const head = "servers: {s: a/b}\nsteps:\n"

// Every mistake is reported with its place and what to do.
func TestParseReportsProblems(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"empty":               {"", []string{"1:1: the file is empty"}},
		"not YAML":            {"a: [", []string{"1:4: the file is not valid YAML"}},
		"a tab":               {"servers:\n\ts: a/b\n", []string{"2:1: the file is not valid YAML: this line is indented with a tab; use spaces"}},
		"a program":           {"\x7fELF\x02\x00\x01", []string{"1:1: the file is not text: it must be YAML or JSON in UTF-8"}},
		"UTF-16":              {"\xff\xfen\x00a\x00", []string{"1:1: the file is not text"}},
		"a list":              {"- a", []string{"1:1: the task must be a mapping, not a list"}},
		"misspelt key":        {"servers: {s: a/b}\nstep: []\n", []string{`2:1: unknown key "step" in the task; did you mean "steps"?`}},
		"nothing there":       {"name: x\n", []string{"1:1: servers is missing", "1:1: steps is missing"}},
		"no steps":            {"servers: {s: a/b}\nsteps: []\n", []string{"2:8: steps is empty"}},
		"two documents":       {"a: 1\n---\nb: 2\n", []string{"3:1: the file contains a second document"}},
		"anchors":             {"name: &a x\n", []string{"1:7: anchors, aliases and tags are not supported"}},
		"a key twice":         {"name: a\nname: b\nservers: {s: a/b}\ngoal: g\n", []string{"2:1:"}},
		"a key twice in JSON": {"{\"name\": \"a\",\n \"name\": \"b\", \"servers\": {\"s\": \"a/b\"}, \"goal\": \"g\"}", []string{`2:2: "name" is set twice: remove this one or the one on line 1`}},
		"all together": {head + "  - {id: a, server: t, tool: 5}\n  - {id: a, server: s}\n", []string{
			`3:21: unknown server "t": must be s`, "3:30: tool must be a string, not a number", `4:5: the id "a" is used twice: choose another id here or on line 3`, "4:5: the step has no tool"}},
		"server without form": {"servers: {s: notes}\nsteps: [{id: a, server: s, tool: t}]", []string{"1:14: the server \"s\" must be CLIENT/NAME"}},
		"command and url":     {"servers: {s: {command: [a], url: http://x}}\nsteps: [{id: a, server: s, tool: t}]", []string{"1:11: the server \"s\" must have either command or url"}},
		"command as a string": {"servers: {s: {command: npx server}}\nsteps: [{id: a, server: s, tool: t}]", []string{"1:24: command must be a list of strings"}},
		"url with env":        {"servers: {s: {url: http://x, env: {A: b}}}\nsteps: [{id: a, server: s, tool: t}]", []string{"env and cwd apply only to a command"}},
		"a reference in env":  {"servers: {s: {command: [a], env: {KEY: '${MY KEY}'}}}\nsteps: [{id: a, server: s, tool: t}]", []string{"1:40: env KEY: malformed reference: use ${NAME}"}},
		"a later step":        {head + "  - {id: a, server: s, tool: t, arguments: {x: \"${b.text}\"}}\n  - {id: b, server: s, tool: t}\n", []string{`3:48: ${b.text} refers to step "b", which has not run yet`}},
		"itself":              {head + "  - {id: a, server: s, tool: t, arguments: {x: [1, \"${a.text}\"]}}\n", []string{`3:52: ${a.text} refers to step "a", which has not run yet`}},
		"an unknown step":     {head + "  - {id: list, server: s, tool: t}\n  - {id: b, server: s, tool: t, arguments: {x: \"${lst.text}\"}}\n", []string{`${lst.text} refers to step "lst", which does not exist; did you mean "list"?`}},
		"one unknown step":    {head + "  - {id: a, server: s, tool: t, for: 'x in [1]', arguments: {x: \"${lst.text}\"}}\n  - {id: b, server: s, tool: t, arguments: {x: \"${a.text}\"}}\n", []string{`3:65: ${lst.text} refers to step "lst"`}},
		"an unknown part":     {head + "  - {id: a, server: s, tool: t}\n  - {id: b, server: s, tool: t, arguments: {x: \"${a.txt}\"}}\n", []string{`a result has only text and json, not "txt"; did you mean "text"?`}},
		"no part":             {head + "  - {id: a, server: s, tool: t}\n  - {id: b, server: s, tool: t, arguments: {x: \"${a}\"}}\n", []string{"${a} does not specify a part of the result: use ${a.text} or ${a.json}"}},
		"a part of text":      {head + "  - {id: a, server: s, tool: t}\n  - {id: b, server: s, tool: t, arguments: {x: \"${a.text.x}\"}}\n", []string{"text has no parts"}},
		"not closed":          {head + "  - {id: a, server: s, tool: t, arguments: {x: \"${a.text\"}}\n", []string{"has no closing brace"}},
		"malformed":           {head + "  - {id: a, server: s, tool: t, arguments: {x: \"${a..b}\"}}\n", []string{"malformed reference ${a..b}"}},
		"a loop over text":    {head + "  - {id: a, server: s, tool: t}\n  - {id: b, server: s, tool: t, for: \"x in ${a.text}\"}\n", []string{"cannot loop over ${a.text}, because text is not a list"}},
		"a loop over a word":  {head + "  - {id: b, server: s, tool: t, for: x in y}\n", []string{"cannot loop over y"}},
		"a loop without in":   {head + "  - {id: b, server: s, tool: t, for: x}\n", []string{"invalid loop (for) x: use NAME in"}},
		"an item like a step": {head + "  - {id: b, server: s, tool: t, for: 'b in [1]'}\n", []string{`the name "b" of the loop's item is also the id of a step`}},
		"a condition":         {head + "  - {id: b, server: s, tool: t, when: maybe}\n", []string{"3:39: invalid condition maybe: use ${id.json.path}"}},
		"a wrong operator":    {head + "  - {id: a, server: s, tool: t}\n  - {id: b, server: s, tool: t, when: '${a.json.x} > 3'}\n", []string{"invalid condition"}},
		"on-error":            {head + "  - {id: b, server: s, tool: t, on-error: contine}\n", []string{`3:43: invalid on-error: must be stop, continue, retry or {retry: N, then: stop|continue}; did you mean "continue"?`}},
		"unlisted":            {head + "  - {id: b, server: s, tool: t, unlisted: maybe}\n", []string{"3:43: unlisted must be true or false, not a string"}},
		"no attempts":         {head + "  - {id: b, server: s, tool: t, on-error: {retry: 0}}\n", []string{"invalid retry: must be a whole number between 1 and 20"}},
		"budget":              {"budget: {steps: -1, time: soon, cost: free}\n" + head + "  - {id: a, server: s, tool: t}\n", []string{"1:17: invalid steps", "1:27: invalid time", "1:39: invalid cost"}},
		"arguments":           {head + "  - {id: a, server: s, tool: t, arguments: [1]}\n", []string{"3:44: arguments must be a mapping, not a list"}},
		"nested too deep":     {"x: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), []string{"nested more than 64 levels deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(test.file))
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			if len(problems) != len(test.want) {
				t.Errorf("%d problems, want %d:\n%v", len(problems), len(test.want), err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f.yaml:") {
					t.Errorf("a line does not name the file: %s", line)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range sample.Corpus(f, "servers: {s: a/b}\nsteps: [{id: a, server: s, tool: t, for: 'x in [1]', when: '${x} == 1'}]",
		`{"servers": {"s": "a/b"}, "goal": "x"}`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse("f", []byte(text))
		if (plan == nil) == (err == nil) {
			t.Fatalf("plan %v, error %v", plan, err)
		}
	})
}

// A budget of one, and a choice of one, are told as such.
func TestWordsForOne(t *testing.T) {
	for budget, want := range map[Budget]string{{Steps: 1}: "The budget of 1 call is used up.", {Steps: 2}: "The budget of 2 calls is used up."} {
		s := State{Plan: Plan{Budget: budget}, Spent: Spent{Steps: budget.Steps}}
		if stop := s.overBudget(); stop == nil || !strings.HasPrefix(stop.Message, want) {
			t.Errorf("%+v, want %s", stop, want)
		}
	}
	for servers, want := range map[string]string{
		"{s: a/b}":         `unknown server "S": must be s`,
		"{s: a/b, t: a/b}": `unknown server "S": must be one of s, t; did you mean "s"?`,
	} {
		_, err := Parse("x.yaml", []byte("servers: "+servers+"\nsteps: [{id: a, server: S, tool: t}]\n"))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
