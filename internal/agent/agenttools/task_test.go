package agenttools

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// faultyEntry returns the entry of a faulty server in a client's file. Its flags decide how it fails.
func faultyEntry(variables object, flags ...string) object {
	command, args, env := faultyserver.Command(flags...)
	all := maps.Clone(variables)
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return object{"command": command, "args": args, "env": all}
}

// faultyPlanned returns the same server as a plan has it.
func faultyPlanned(variables object, flags ...string) object {
	entry := faultyEntry(variables, flags...)
	return object{"command": append([]string{entry["command"].(string)}, entry["args"].([]string)...), "env": entry["env"]}
}

// notesIn writes a faulty server as notes into a client's file. Its flags decide how it fails.
func (a *agent) notesIn(file string, flags ...string) {
	a.t.Helper()
	a.notesWith(file, object{}, append([]string{"-state", filepath.Join(a.dir, "served")}, flags...)...)
}

// notesWith is notesIn for a server with variables.
func (a *agent) notesWith(file string, variables object, flags ...string) {
	a.t.Helper()
	entry := faultyEntry(variables, append([]string{"-ledger", filepath.Join(a.dir, "ledger")}, flags...)...)
	text, err := json.Marshal(object{"mcpServers": object{"notes": entry}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(file, string(text))
}

const ownFile = ".cursor/mcp.json"

func (a *agent) effects() (keys []string) {
	a.t.Helper()
	if !a.exists("ledger") {
		return nil
	}
	entries, _, err := faultyserver.ReadLedger(filepath.Join(a.dir, "ledger"))
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// errand is a plan with a step for each pair of a tool and a key.
func errand(server string, steps ...string) object {
	var all []object
	for i, step := range steps {
		tool, key, _ := strings.Cut(step, " ")
		all = append(all, object{"id": fmt.Sprintf("s%d", i), "server": "n", "tool": tool, "arguments": object{"key": key}})
	}
	return object{"plan": object{"name": "errand", "servers": object{"n": server}, "steps": all}, "wait_seconds": 60}
}

// ends waits until a task has ended.
func (a *agent) ends(id string) told {
	a.t.Helper()
	for range 10 {
		r := a.call("get_task", object{"id": id, "wait_seconds": 60})
		if r.failed || r.task("state") != "running" {
			return r
		}
	}
	a.t.Fatalf("the task %s does not end", id)
	return told{}
}

func TestAgentRunsATask(t *testing.T) {
	t.Parallel()
	for _, version := range []string{legacy, modern} {
		a := newAgent(t, settings{version: version, person: yes})
		a.notesIn(ownFile)
		r := a.want(done, "run_task", errand("cursor/notes", "append a", "append b"))
		if r.task("state") != "done" || r.task("steps_done") != 2.0 || !slices.Equal(a.effects(), []string{"a", "b"}) {
			t.Fatalf("%v, effects %v", r.data, a.effects())
		}
		// The user saw every call before it was sent.
		for _, want := range []string{"cursor/notes", "1. s0: n append", `"key":"a"`, "2. s1: n append"} {
			if len(a.asked) != 1 || !strings.Contains(a.asked[0], want) {
				t.Errorf("asked %q, want %q", a.asked, want)
			}
		}
		r = a.call("get_task", object{"id": r.task("id"), "step": "s1"})
		calls, _ := r.task("calls").([]any)
		if r.failed || len(calls) != 1 || calls[0].(object)["step"] != "s1" || calls[0].(object)["outcome"] != "ok" {
			t.Errorf("%v", r.data)
		}
		if r := a.want(nothingToDo, "resume_task", object{"id": r.task("id")}); r.task("state") != "done" {
			t.Errorf("%v", r.data)
		}
	}
}

// A reference in env has the value of the variable in this process.
func TestReferencesInEnvAreExpanded(t *testing.T) {
	a := newAgent(t, settings{person: yes})
	command, args, env := faultyserver.Command()
	variables := object{}
	for i, pair := range env { // the server starts only with their values
		name, value, _ := strings.Cut(pair, "=")
		reference := fmt.Sprintf("TASK_TEST_%d", i)
		t.Setenv(reference, value)
		variables[name] = "${" + reference + "}"
	}
	plan := errand("", "echo")
	plan["plan"].(object)["servers"] = object{"n": object{"command": append([]string{command}, args...), "env": variables}}
	if r := a.want(done, "run_task", plan); r.task("state") != "done" {
		t.Errorf("%v", r.data)
	}
}

// What a plan gives to its server in env is not shown, even if the server repeats it.
func TestSecretsOfAPlanAreNotReported(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	plan := errand("", "echo")
	plan["plan"].(object)["servers"] = object{"n": faultyPlanned(object{"DB_PASS": "battery staple"})}
	plan["plan"].(object)["steps"].([]object)[0]["arguments"] = object{"text": "connected with battery staple"}
	r := a.want(done, "run_task", plan)
	text, err := json.Marshal([]any{r.data, a.call("get_task", object{"id": r.task("id"), "step": "s0"}).data})
	if err != nil || !strings.Contains(string(text), "connected with") || strings.Contains(string(text), "battery staple") {
		t.Errorf("%v %s", err, text)
	}
}

func TestPlanIsAlsoText(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	r := a.want(done, "run_task", object{"wait_seconds": 60, "plan": "servers: {n: cursor/notes}\nsteps:\n  - {id: a, server: n, tool: echo, arguments: {text: one}}\n  - {id: b, server: n, tool: append, arguments: {key: \"${a.text}\"}}\n"})
	if r.task("state") != "done" || !slices.Equal(a.effects(), []string{"one"}) || !strings.Contains(r.text, "a: ok: one") {
		t.Errorf("%v\n%s", r.data, r.text)
	}
	r = a.call("run_task", object{"plan": "servers: {n: cursor/notes}\nsteps:\n  - {id: a, server: m, tool: echo}\n"})
	if !r.failed || !strings.Contains(r.text, "task:3:") || !strings.Contains(r.text, "unknown server") || !strings.Contains(r.text, "next: ") {
		t.Errorf("%s", r.text)
	}
}

// Nothing runs unless the user agrees, and a client that cannot ask gets a command instead.
func TestTaskIsConfirmed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings
		status string
	}{
		"declined":     {settings{person: says("decline", nil)}, declined},
		"no answer":    {settings{person: says("accept", nil)}, declined},
		"cannot ask":   {settings{}, needsPerson},
		"allow-writes": {settings{allow: true}, needsConsent},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, test.settings)
			a.notesIn(ownFile)
			r := a.want(test.status, "run_task", errand("cursor/notes", "append a"))
			if a.exists("ledger") || r.task("id") != nil || a.exists("state/tasks") {
				t.Errorf("it ran: %v", r.data)
			}
			if test.status == needsPerson && !strings.Contains(r.text, "gauze task run FILE") {
				t.Errorf("%s", r.text)
			}
		})
	}
	a := newAgent(t, settings{allow: true})
	a.notesIn(ownFile)
	r, shown := a.agreeing("run_task", errand("cursor/notes", "append a"))
	if r.task("state") != "done" || len(shown) != 1 || !slices.Equal(a.effects(), []string{"a"}) {
		t.Errorf("%v, shown %q", r.data, shown)
	}
}

func TestAgentDecidesOnlyWithTheUser(t *testing.T) {
	t.Parallel()
	agree := true
	a := newAgent(t, settings{person: func(q string) *mcp.ElicitResult { return says("accept", agree)(q) }})
	a.notesIn(ownFile)
	r := a.want(done, "run_task", errand("cursor/notes", "append a", "die b", "append c"))
	id := r.task("id").(string)
	if r.task("state") != "needs-decision" || !strings.Contains(r.task("next").(string), "ask the user") {
		t.Fatalf("%v\n%s", r.data, r.text)
	}
	for decision, want := range map[string]string{"perhaps": "must be", "": "needs-decision"} {
		if r := a.call("resume_task", object{"id": id, "decision": decision, "wait_seconds": 60}); !strings.Contains(r.text, want) {
			t.Errorf("%q: %s", decision, r.text)
		}
	}
	agree = false
	a.want(declined, "resume_task", object{"id": id, "decision": "skip"})
	agree = true
	r = a.want(done, "resume_task", object{"id": id, "decision": "skip", "wait_seconds": 60})
	if r.task("state") != "done" || !strings.Contains(a.asked[len(a.asked)-1], `n die {"key":"b"}`) {
		t.Errorf("%v, asked %q", r.data, a.asked)
	}
	if got := a.effects(); slices.Contains(got, "b") && len(got) != 3 || got[0] != "a" || got[len(got)-1] != "c" {
		t.Errorf("effects %v", got)
	}
	if r := a.call("resume_task", object{"id": id, "decision": "repeat"}); !r.failed {
		t.Errorf("a task that is done accepts a decision: %v", r.data)
	}
}

// A task does not end with the call that started it, but with gauze mcp, and a different one continues
// it after the user has confirmed that.
func TestTaskEndsWithItsProcessAndIsResumed(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	plan := errand("cursor/notes", "append a", "hang x", "append c")
	plan["wait_seconds"] = 0.01
	r := a.want(done, "run_task", plan)
	id := r.task("id").(string)
	if r.task("state") != "running" {
		t.Fatalf("%v", r.data)
	}
	if r := a.call("resume_task", object{"id": id}); !r.failed || !strings.Contains(r.text, "already running") {
		t.Errorf("%v", r.text)
	}
	a.restart()
	if r := a.ends(id); r.task("state") != "interrupted" {
		t.Fatalf("%v\n%s", r.data, r.text)
	}
	asked := len(a.asked)
	r = a.want(done, "resume_task", object{"id": id, "wait_seconds": 0.01})
	if len(a.asked) != asked+1 || r.task("id") != id {
		t.Errorf("asked %q", a.asked[asked:])
	}
}
