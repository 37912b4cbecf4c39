package agenttools

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// Values that an agent does not see, and that a person who decides does.
const (
	keyOfEntry = "abcdefgh0123456789"
	keyOfStep  = "hunter2horse"
)

var keyed = object{"NOTES_API_KEY": keyOfEntry}

// deadly is a plan whose call has an unknown outcome.
func deadly(server string) object {
	plan := errand(server, "die b", "append c")
	plan["plan"].(object)["steps"].([]object)[0]["arguments"] = object{"when": "after-effect", "key": "b", "password": keyOfStep}
	return plan
}

// The question about a decision has the whole entry of every server that is started, and the whole
// call. The agent gets neither key.
func TestDecisionShowsTheWholeEntry(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesWith("project/.mcp.json", keyed)
	id := a.want(done, "run_task", deadly("claude-code/notes")).task("id")
	a.want(done, "resume_task", object{"id": id, "decision": "skip", "wait_seconds": 60})
	q := a.asked[len(a.asked)-1]
	for _, want := range []string{"-ledger", "NOTES_API_KEY=" + keyOfEntry, "s0: n die", `"password":"` + keyOfStep + `"`, "s1: n append"} {
		if len(a.asked) != 2 || !strings.Contains(q, want) {
			t.Errorf("asked %q, want %q", q, want)
		}
	}
	b := newAgent(t, settings{allow: true})
	b.notesWith("project/.mcp.json", keyed)
	r, _ := b.agreeing("run_task", deadly("claude-code/notes"))
	_, shown := b.agreeing("resume_task", object{"id": r.task("id"), "decision": "skip", "wait_seconds": 60})
	if len(shown) != 1 || !strings.Contains(shown[0], "-ledger") || !strings.Contains(shown[0], "n die") || strings.Contains(shown[0], keyOfEntry) || strings.Contains(shown[0], keyOfStep) {
		t.Errorf("shown to the agent: %q", shown)
	}
}

// The question about a task has everything that decides what happens.
func TestQuestionAboutATaskIsComplete(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesWith(ownFile, keyed)
	plan := errand("cursor/notes", "append a")
	plan["plan"].(object)["budget"] = object{"steps": 3, "time": "1m"}
	plan["plan"].(object)["steps"].([]object)[0]["on-error"] = "continue"
	a.want(done, "run_task", plan)
	for _, want := range []string{"-ledger", "with NOTES_API_KEY=", "continues after an error", "budget: 3 calls, 1m0s"} {
		if len(a.asked) != 1 || !strings.Contains(a.asked[0], want) {
			t.Errorf("asked %q, want %q", a.asked, want)
		}
	}
}

// What the user confirmed is the task with its servers as they were: the user's own entry counts too.
func TestTaskWithAChangedEntryIsConfirmedAgain(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	r := a.want(done, "run_task", errand("cursor/notes", "append a", "die b"))
	again := object{"id": r.task("id"), "wait_seconds": 60}
	if a.want(done, "resume_task", again); len(a.asked) != 1 {
		t.Fatalf("asked again about the same entry: %q", a.asked)
	}
	a.notesIn(ownFile, "-exit-at-start=code=3")
	if a.want(done, "resume_task", again); len(a.asked) != 2 || !strings.Contains(a.asked[1], "-exit-at-start=code=3") {
		t.Errorf("asked %q: the entry changed", a.asked)
	}
}

// A task that the user confirmed here is not asked about in a terminal.
func TestConfirmedTaskIsRemembered(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	id := a.want(done, "run_task", errand("cursor/notes", "append a")).task("id").(string)
	state := filepath.Join(a.dir, "state")
	store, err := taskrun.Open(filepath.Join(state, "tasks"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := store.State(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	review, err := taskcli.Of(a.fleet, s.Plan)
	if err != nil {
		t.Fatal(err)
	}
	if memory := trust.NewMemory(state); !memory.Seen(review.Thing(id)) || memory.Seen(review.Thing("other")) {
		t.Error("the answer was not remembered for exactly this task")
	}
}
