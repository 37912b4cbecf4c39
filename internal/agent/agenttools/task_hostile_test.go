package agenttools

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// touching is a plan whose server is a command of the agent that leaves a mark.
func touching(dir string, server object) object {
	all := faultyPlanned(object{}, "-ledger", filepath.Join(dir, "ledger"))
	maps.Copy(all, server)
	return object{"plan": object{"servers": object{"n": all}, "steps": []object{{"id": "a", "server": "n", "tool": "append", "arguments": object{"key": "mark"}}}}, "wait_seconds": 60}
}

// An agent's command runs only after the user has seen all of it, outside of the project, in a
// directory that they have seen.
func TestCommandInAPlanIsConfirmed(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]settings{"cannot ask": {}, "declined": {person: says("accept", false)}} {
		a := newAgent(t, settings)
		for _, server := range []object{{}, {"cwd": "/etc"}, {"cwd": "../../.."}, {"env": object{"LD_PRELOAD": "x.so"}}} {
			r := a.call("run_task", touching(a.dir, server))
			if s := r.get("status"); s != needsPerson && s != declined || a.exists("ledger") || a.exists("state/tasks") {
				t.Errorf("%s: %v: %v", name, server, r.data)
			}
		}
	}
	a := newAgent(t, settings{person: yes})
	r := a.want(done, "run_task", touching(a.dir, object{"cwd": "project/.."}))
	if r.task("state") != "done" || len(a.effects()) != 1 {
		t.Fatalf("%v", r.data)
	}
	if want := "in the directory " + a.dir; len(a.asked) != 1 || !strings.Contains(a.asked[0], want) || !strings.Contains(a.asked[0], "-ledger") {
		t.Errorf("asked %q, want %q", a.asked, want)
	}
	// The same command in a different plan is a different task.
	a.want(done, "run_task", touching(a.dir, object{"cwd": "project/.."}))
	if len(a.asked) != 2 {
		t.Errorf("asked %d times", len(a.asked))
	}
}

// A project's server is not the user's, whatever the plan calls it, and what the user allowed is the
// entry as it was.
func TestProjectsServerInAPlanIsConfirmed(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{})
	a.notesIn("project/.mcp.json")
	r := a.want(needsPerson, "run_task", errand("claude-code/notes", "append a"))
	if a.exists("ledger") || !strings.Contains(r.get("diff"), "from the project") {
		t.Errorf("%v", r.data)
	}
	b := newAgent(t, settings{person: yes})
	b.notesIn("project/.mcp.json")
	r = b.want(done, "run_task", errand("claude-code/notes", "append a", "die b"))
	if r.task("state") != "needs-decision" || len(b.asked) != 1 || !strings.Contains(b.asked[0], "from the project") {
		t.Fatalf("%v, asked %q", r.data, b.asked)
	}
	again := object{"id": r.task("id"), "wait_seconds": 60}
	if b.want(done, "resume_task", again); len(b.asked) != 1 {
		t.Errorf("asked again about the same entry: %q", b.asked)
	}
	b.notesIn("project/.mcp.json", "-exit-at-start=code=3")
	if b.want(done, "resume_task", again); len(b.asked) != 2 {
		t.Errorf("asked %d times: the entry changed", len(b.asked))
	}
}

func TestHostilePlans(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	steps := make([]object, 1001)
	for i := range steps {
		steps[i] = object{"id": fmt.Sprintf("s%d", i), "server": "n", "tool": "append", "arguments": object{"key": "x"}}
	}
	servers := object{"n": "cursor/notes"}
	for name, plan := range map[string]any{
		"nothing":        nil,
		"not a plan":     7,
		"empty":          "",
		"too many steps": object{"servers": servers, "steps": steps},
		"too long":       object{"servers": servers, "steps": []object{{"id": "a", "server": "n", "tool": "append", "arguments": object{"key": strings.Repeat("x", 300_000)}}}},
		"deep":           strings.Repeat("[", 100_000),
		"aliases":        "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nservers: *c\n",
		"no such server": object{"servers": object{"n": "cursor/nothing"}, "steps": steps[:1]},
		"a path":         object{"servers": object{"n": "../../etc/passwd"}, "steps": steps[:1]},
		"a file URL":     object{"servers": object{"n": object{"url": "file:///etc/passwd"}}, "steps": steps[:1]},
		"a goal":         object{"servers": servers, "goal": "delete everything"},
	} {
		if r := a.call("run_task", object{"plan": plan}); !r.failed && r.refused == nil || len(r.text) > 20_000 {
			t.Errorf("%s: %v %.200s", name, r.data, r.text)
		}
	}
	// A plan that no one can review in a dialog is not asked about.
	long := object{"servers": servers, "steps": []object{{"id": "a", "server": "n", "tool": "append", "arguments": object{"key": strings.Repeat("x", 100_000)}}}}
	a.want(needsPerson, "run_task", object{"plan": long})
	if len(a.asked) > 0 || a.exists("ledger") || a.exists("state/tasks") {
		t.Errorf("asked %d times, effects %v", len(a.asked), a.effects())
	}
	// What is hidden in text is shown to the user, and what a server says stays text.
	a.want(done, "run_task", object{"wait_seconds": 60, "plan": object{"name": "x\u202ey\n1. safe", "servers": servers,
		"steps": []object{{"id": "a", "server": "n", "tool": "echo", "arguments": object{"text": "\u202e\x1b[2J hello"}}}}})
	if q := a.asked[0]; strings.Contains(q, "\u202e") || strings.Contains(q, "\n1. safe") {
		t.Errorf("asked %q", q)
	}
	if heard := a.heard.String(); strings.ContainsAny(heard, "\u202e\x1b") {
		t.Errorf("heard %q", heard)
	}
	for _, id := range []string{"", "../x", "nothing", strings.Repeat("x", 100_000), "a b", "\x00"} {
		for _, tool := range []string{"get_task", "resume_task"} {
			if r := a.call(tool, object{"id": id}); !r.failed && r.refused == nil || len(r.text) > 10_000 {
				t.Errorf("%s %.20q: %v", tool, id, r.data)
			}
		}
	}
}

func TestManyTasksAtTheSameTime(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	plan := errand("cursor/notes", "hang x")
	plan["wait_seconds"] = 0.001
	attempts := sample.Size(1000)
	refused := 0
	for range attempts {
		r := a.call("run_task", plan)
		if r.failed {
			if refused++; !strings.Contains(r.text, "limit") {
				t.Fatalf("%s", r.text)
			}
		}
	}
	if refused != attempts-taskrun.MaxBackground || len(a.asked) != taskrun.MaxBackground {
		t.Errorf("%d refused, asked %d times", refused, len(a.asked))
	}
}
