package main

import (
	"strings"
	"testing"
)

// At a terminal, a task file is shown and asked about once. --yes is no answer about a file in a
// clone.
func TestTaskFileIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	k.clone("clone")
	k = k.in("clone")
	k.env = append(k.env, "TERM=vt100", "NO_COLOR=yes")
	k.write("task.yaml", theServer+oneStep)
	const question = `Run this task\? \[y/N\]`
	s := startOnScreen(t, 200, 40, k.command("run", "task.yaml"))
	s.want(`server s: taskserver flags`, `1\. a: s append \{"key":"one"\}`, question)
	s.press("n\r")
	s.want("Nothing was started")
	if err := s.cmd.Wait(); err == nil {
		t.Error("exit status 0")
	}
	k.wantEffects()
	s = startOnScreen(t, 200, 40, k.command("run", "task.yaml"))
	s.want(question)
	s.press("y\r")
	s.want("is done")
	k.wantEffects("one")
	s = startOnScreen(t, 200, 40, k.command("run", "task.yaml"))
	s.want("is done")
	if strings.Contains(s.String(), "Run this task") {
		t.Errorf("asked again:\n%s", s)
	}
	k.wantEffects("one", "one")
	s = startOnScreen(t, 200, 40, k.command("run", "--yes", "task.yaml"))
	s.want("is done") // it was seen
	k.write("task.yaml", theServer+oneStep+"budget: {steps: 9}\n")
	s = startOnScreen(t, 200, 40, k.command("run", "--yes", "task.yaml"))
	s.want("--yes does not cover this plan")
	k.wantEffects("one", "one", "one")
}
