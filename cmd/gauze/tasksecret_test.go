package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret that a file refers to is in no file of gauze, and nothing that shows a task shows the
// secrets of its servers.
func TestSecretsOfTasksAreNotShown(t *testing.T) {
	t.Parallel()
	const given, referred = "hunter2horse", "battery-staple"
	k := newTasks(t)
	servers := "servers: {s: {command: [taskserver, flags], env: {DB_PASS: " + given + ", NOTES_TOKEN: \"${TASK_CANARY}\"}}}\n"
	k.write("task.yaml", servers+"steps: [{id: a, server: s, tool: pid}, {id: b, server: s, tool: nosuch}]\n")
	k.gauze("run", "--yes", "task.yaml").want(2, `the server "s" cannot be started: env NOTES_TOKEN: the environment variable TASK_CANARY is not set`)
	if out := k.gauze("list"); !strings.Contains(out.stdout, "No tasks yet") {
		t.Errorf("a task that cannot start was recorded:\n%s", out.stdout)
	}
	k.env = append(k.env, "TASK_CANARY="+referred)
	k.gauze("run", "--yes", "task.yaml").want(1)
	k.wantNowhere(referred)

	// A server that has the value repeats it.
	k.write("task.yaml", servers+"steps:\n  - {id: a, server: s, tool: env}\n"+
		`  - {id: b, server: s, tool: raw, arguments: {result: '{"isError":true,"content":[{"type":"text","text":"rejected `+given+` and `+referred+`"}]}'}}`+"\n")
	outputs := map[string]*ended{"run": k.gauze("run", "--yes", "task.yaml")}
	id := outputs["run"].want(1, "rejected .*redacted").id()
	for _, args := range [][]string{{"show", id}, {"show", "--json", id}, {"list", "--json"}, {"watch", id}, {"watch", "--json", id}, {"resume", id}, {"resume", "--json", id}} {
		outputs[strings.Join(args, " ")] = k.gauze(args...)
	}
	for _, args := range [][]string{{"history"}, {"history", "--json"}} {
		cmd := program(t, "gauze", args...)
		cmd.Dir, cmd.Env = k.dir, append(os.Environ(), k.env...)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("gauze %v: %v\n%s", args, err, text)
		}
		outputs[strings.Join(args, " ")] = &ended{stdout: string(text)}
	}
	for name, out := range outputs {
		for _, canary := range []string{given, referred} {
			if text := out.stdout + out.stderr; strings.Contains(text, canary) {
				t.Errorf("%s shows %s:\n%s", name, canary, text)
			}
		}
	}
}

// wantNowhere checks that no file of the state directory contains a text.
func (k *tasks) wantNowhere(text string) {
	k.t.Helper()
	root := filepath.Join(k.dir, "state")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			k.t.Errorf("%s is in %s", text, path)
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
}
