package main

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// The files that the help and the documentation show are valid.
func TestShownTaskFilesAreValid(t *testing.T) {
	shown := map[string]string{}
	for paragraph := range strings.SplitSeq(taskRunCommand().Long, "\n\n") {
		if preformatted(paragraph) {
			shown["help"] = paragraph
		}
	}
	readme, err := os.ReadFile("../../docs/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "# Tasks\n")
	_, section, _ = strings.Cut(section, "```yaml\n")
	shown["docs"], _, _ = strings.Cut(section, "```")
	for where, text := range shown {
		if plan, err := task.Parse(where, []byte(text)); err != nil || len(plan.Steps) != 2 {
			t.Errorf("%v", err)
		}
	}
	if len(shown) != 2 {
		t.Errorf("found %d files", len(shown))
	}
}

// Invalid usage and unknown tasks have one exit status, and say what is missing.
func TestTaskUsage(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	for line, says := range map[string]string{
		"resume nosuch":       `unknown task "nosuch"`,
		"decide nosuch done":  `unknown task "nosuch"`,
		"show nosuch":         `unknown task "nosuch"`,
		"watch nosuch":        `unknown task "nosuch"`,
		"stop nosuch":         `unknown task "nosuch"`,
		"resume":              "missing ID: gauze task list shows the ids of all tasks",
		"decide":              "missing ID",
		"decide nosuch":       `missing decision: must be done \(the call took effect\), repeat \(send it again\) or skip \(continue without it\)`,
		"decide nosuch maybe": `invalid decision "maybe": must be done, repeat, skip`,
		"decide a done b":     `unexpected argument "b"`,
		"show a b":            `unexpected argument "b"`,
	} {
		if got := k.gauze(strings.Fields(line)...).want(2, says); got.stdout != "" {
			t.Errorf("%s: %s", line, got.stdout)
		}
	}
}

// The first line names the task, so that it can be resumed whatever ends gauze.
func TestTaskSaysItsIDFirst(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "--yes", "task.yaml"}, {"run", "--yes", "--json", "task.yaml"}} {
		k := newTasks(t, "-ignore-initialize")
		k.write("task.yaml", "name: kept\n"+theServer+"steps: [{id: a, server: s, tool: append, arguments: {key: one}}]")
		cmd := k.command(args...)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stderr).ReadString('\n')
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		words := regexp.MustCompile(`^Task (kept-[a-z0-9]{6}) begins\.\n$`).FindStringSubmatch(line)
		if words == nil {
			t.Fatalf("%q, %v", line, err)
		}
		k.breaks()
		k.gauze("resume", words[1]).want(0, "is done")
		k.wantEffects("one")
	}
}

// A file with a misspelt tool has no effect, and one that was corrected continues the task.
func TestTaskResumesWithACorrectedFile(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	file := func(second string) string {
		return "name: kept\n" + theServer + "steps:\n  - {id: a, server: s, tool: append, arguments: {key: one}}\n  - {id: b, server: s, " + second + "}\n"
	}
	k.write("task.yaml", file("tool: apend, arguments: {key: two}"))
	stopped := k.gauze("run", "--yes", "task.yaml").want(1, `The server "s" does not list the tool "apend", which step "b" calls; did you mean "append"\?`, "Done: 0 of 2 steps, 0 calls")
	k.wantEffects()
	words := regexp.MustCompile(`  (gauze task resume --file) FILE (kept-[a-z0-9]{6})\n$`).FindStringSubmatch(stopped.stderr)
	if words == nil {
		t.Fatal(stopped.stderr)
	}
	id := words[2]
	resume := func(second string) *ended {
		k.write("task.yaml", file(second))
		return k.gauze("resume", "--yes", "--file", "task.yaml", id)
	}
	resume("tool: echo, arguments: {text: '${a.json.none}'}").want(1, `Step "b" was not sent`, "Done: 1 of 2 steps")
	k.wantEffects("one")
	resume("tool: append, argument: {}").want(2, `task.yaml:5:\d+: unknown key "argument" in a step`)
	k.write("other.yaml", "name: kept\n"+theServer+"steps: [{id: b, server: s, tool: append, arguments: {key: two}}]")
	k.gauze("resume", "--yes", "--file", "other.yaml", id).want(2, `the task `+id+` cannot continue with this file: step "a" is done, so it must not change`)
	k.gauze("resume", "--yes", "--file", "nosuch.yaml", id).want(2, "cannot read the task")
	k.gauze("resume", "--yes", "--file", "other.yaml", "nosuch").want(2, `unknown task "nosuch"`)
	k.wantEffects("one")
	resume("tool: append, arguments: {key: two}").want(0, "2 of 2 steps")
	k.wantEffects("one", "two")
	resume("tool: append, arguments: {key: three}").want(2, "it is done")
	if shown := k.gauze("show", id); !strings.Contains(shown.stdout, "continued with a corrected file") {
		t.Error(shown.stdout)
	}
}
