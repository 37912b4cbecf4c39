package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
)

func TestTaskRemove(t *testing.T) {
	t.Parallel()
	k, stopped := finished(t)
	k.write("short.yaml", "name: short\n"+theServer+"steps:\n  - {id: a, server: s, tool: append, arguments: {key: short}}\n")
	k.gauze("run", "--yes", "short.yaml").want(0)
	if out := k.gauze("rm", "--all-done").want(0).stdout; !strings.HasPrefix(out, "Removed short-") || strings.Count(out, "\n") != 1 {
		t.Error(out)
	}
	if out := k.gauze("rm", "--all-done").want(0).stdout; out != "No completed tasks to remove.\n" {
		t.Error(out)
	}
	if out := k.gauze("rm", "kept-no", stopped).want(2, `unknown task "kept-no"`).stdout; out != "Removed "+stopped+".\n" {
		t.Error(out)
	}
	k.gauze("show", stopped).want(2, "unknown task")
	k.gauze("resume", stopped).want(2, "unknown task")
	if out := k.gauze("list").want(0).stdout; !strings.HasPrefix(out, "No tasks yet.") {
		t.Error(out)
	}
	k.gauze("rm").want(2, "missing ID")
	k.gauze("rm", "--all-done", "x").want(2, "either --all-done or")
	if left, err := os.ReadDir(k.dir + "/state/tasks"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func TestTaskRemoveRefusesARunningTask(t *testing.T) {
	t.Parallel()
	k, id := finished(t)
	j, err := journal.Open(k.journal())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	unlock, err := j.Lock(id) // as the process that runs it
	if err != nil {
		t.Fatal(err)
	}
	k.gauze("rm", id).want(2, "the task "+id+" is running. To stop it first:\n  gauze task stop "+id)
	unlock()
	k.gauze("rm", id).want(0)
}
