package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// The benchmark in small: its tasks finish, each effect happens once, and every step is timed.
func TestTasksFinishWithEveryEffectOnce(t *testing.T) {
	r := tasksRun{tasks: 3, steps: 2, dir: t.TempDir(), self: self(t)}
	part, err := r.play("small", 0)
	if err != nil {
		t.Fatal(err)
	}
	if part.Steps != 6 || part.Twice != 0 || part.Missing != 0 || part.P99 <= 0 {
		t.Errorf("%+v", part)
	}
}

func TestTasksEffectsAreCounted(t *testing.T) {
	path := t.TempDir() + "/ledger"
	ledger, err := faultyserver.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	for _, key := range []string{"0-0", "0-1", "0-1"} {
		if err := ledger.Append(faultyserver.Entry{Op: "append", Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	r := tasksRun{tasks: 2, steps: 2}
	if twice, missing, err := r.effects(path); twice != 1 || missing != 2 || err != nil {
		t.Errorf("%d twice, %d missing, %v", twice, missing, err)
	}
}

func TestTasksLimits(t *testing.T) {
	for name, test := range map[string]struct {
		part tasksPart
		pass bool
		note string
	}{
		"quick":               {tasksPart{P99: 4.9}, true, ""},
		"slow":                {tasksPart{P99: 5, SyncP99: 1}, false, ""},
		"slow, like the disk": {tasksPart{P99: 9, SyncP99: 4}, false, "took 8.0 ms"},
		"an effect twice":     {tasksPart{Twice: 1}, false, ""},
		"an effect missing":   {tasksPart{Missing: 1}, false, ""},
	} {
		rep := tasksReport{Tasks: 1, Parts: []tasksPart{{P99: 1000}, test.part}}
		rep.judge()
		var out strings.Builder
		rep.print(&out)
		if rep.Pass != test.pass || !strings.Contains(out.String(), test.note) || test.note == "" && len(rep.Notes) > 0 {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
