//go:build linux

package realtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// taskSteps uses four real servers: it reads the time, writes files, remembers them and commits them
// twice. {dir} stands for the repository.
const taskSteps = `
steps:
  - {id: now, server: time, tool: get_current_time, arguments: {timezone: UTC}}
  - {id: note, server: files, tool: write_file, arguments: {path: "{dir}/note.txt", content: "written in ${now.json.timezone}"}}
  - {id: remember, server: memory, tool: create_entities, arguments: {entities: [{name: note, entityType: file, observations: ["kept"]}]}}
  - {id: add, server: git, tool: git_add, arguments: {repo_path: "{dir}", files: [note.txt]}}
  - {id: commit, server: git, tool: git_commit, arguments: {repo_path: "{dir}", message: first}}
  - id: more
    server: files
    tool: write_file
    for: name in ["a", "b", "c"]
    arguments: {path: "{dir}/${name}.txt", content: "after ${note.text}"}
  - id: relate
    server: memory
    tool: create_entities
    for: name in ["a", "b", "c"]
    arguments: {entities: [{name: "${name}", entityType: file, observations: ["kept"]}]}
  - {id: addmore, server: git, tool: git_add, arguments: {repo_path: "{dir}", files: [a.txt, b.txt, c.txt]}}
  - {id: commitmore, server: git, tool: git_commit, arguments: {repo_path: "{dir}", message: second}}
  - {id: read, server: files, tool: read_text_file, arguments: {path: "{dir}/note.txt"}}
`

// A task over real servers is killed with gauze twice, resumed, and finishes. A call that was under
// way is decided by what the server did.
func TestTaskIsKilledTwiceAndFinishes(t *testing.T) {
	for _, kills := range half(t, [][]string{{"remember", "relate"}, {"add", "addmore"}}) {
		t.Run(strings.Join(kills, "-"), func(t *testing.T) {
			t.Parallel()
			w := newTaskWork(t)
			id := ""
			args := []string{"run", "--yes", "task.yaml"}
			for _, step := range kills {
				if !w.killAfter(step, args...) { // the last kill left an unknown outcome
					if !w.killAfter(step, "decide", id, w.decision(id)) {
						t.Fatalf("the task ended before step %s", step)
					}
				}
				id = w.only()
				args = []string{"resume", id}
			}
			w.finish(id)
			w.wantEffectsOnce()
			w.finish(id) // and nothing changes
			w.wantEffectsOnce()
		})
	}
}

// taskWork is a repository with a task, and the state of gauze.
type taskWork struct {
	workplace
	t    *testing.T
	repo string
}

func newTaskWork(t *testing.T) *taskWork {
	t.Helper()
	w := &taskWork{workplace: newWorkplace(t), t: t}
	w.repo = w.path("repo")
	w.git("init", "--quiet", "--initial-branch=main", w.repo)
	w.git("-C", w.repo, "config", "user.name", "test")
	w.git("-C", w.repo, "config", "user.email", "test@example.com")
	var file strings.Builder
	file.WriteString("name: four servers\nservers:\n")
	for _, server := range []struct {
		name string
		part realparts.Part
		args []string
	}{
		{"time", realparts.Time, []string{"--local-timezone", "UTC"}},
		{"files", realparts.Filesystem, []string{w.repo}},
		{"memory", realparts.Memory, nil},
		{"git", realparts.Git, []string{"--repository", w.repo}},
	} {
		command, err := json.Marshal(realparts.Need(t, server.part, server.args...))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&file, "  %s: {command: %s, env: {MEMORY_FILE_PATH: %q}}\n", server.name, command, w.path("memory.jsonl"))
	}
	file.WriteString(strings.ReplaceAll(taskSteps, "{dir}", w.repo))
	w.write(t, "task.yaml", file.String())
	return w
}

func (w *taskWork) git(args ...string) string {
	w.t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (w *taskWork) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), gauzeBinary(), append([]string{"task"}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+w.path("state"), raceOptions())
	return cmd
}

// killAfter runs gauze until it reports that a step succeeded, and kills it with SIGKILL. It returns
// false if the task needs a decision before.
func (w *taskWork) killAfter(step string, args ...string) bool {
	w.t.Helper()
	cmd := w.command(args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.HasPrefix(lines.Text(), "✓ "+step+"  ") {
			if err := cmd.Process.Kill(); err != nil {
				w.t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, stderr) // until the process is gone
			_ = cmd.Wait()
			return true
		}
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 4 {
		w.t.Fatalf("gauze task %v ended before step %s:\n%s", args, step, strings.Join(said, "\n"))
	}
	return false
}

// only returns the id of the only task, which no process runs.
func (w *taskWork) only() string {
	w.t.Helper()
	out, err := w.command("list", "--json").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var one struct{ ID, Status string }
	if err := json.Unmarshal(out, &one); err != nil || one.Status != "killed" {
		w.t.Fatalf("%v: %s", err, out)
	}
	return one.ID
}

// finish resumes the task until it is done, and decides about calls whose outcome is unknown.
func (w *taskWork) finish(id string) {
	w.t.Helper()
	args := []string{"resume", id}
	for range 5 {
		out, err := w.command(args...).CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return
		case errors.As(err, &exit) && exit.ExitCode() == 4:
			args = []string{"decide", id, w.decision(id)}
		default:
			w.t.Fatalf("gauze task %v: %v\n%s", args, err, out)
		}
	}
	w.t.Fatal("the task needs a fifth decision")
}

// decision says whether the last call of the task took effect.
func (w *taskWork) decision(id string) string {
	w.t.Helper()
	out, err := w.command("show", "--json", id).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var shown struct {
		Timeline []struct {
			Kind string
			Data struct {
				Tool      string
				Arguments struct {
					Message  string
					Entities []struct{ Name string }
				}
			}
		}
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		w.t.Fatal(err)
	}
	happened := false
	for _, e := range shown.Timeline {
		if e.Kind != "intent" {
			continue
		}
		switch e.Data.Tool {
		case "git_commit":
			happened = strings.Count(w.commits(), e.Data.Arguments.Message+"\n") > 0
		case "create_entities":
			happened = w.remembered(w.t, e.Data.Arguments.Entities[0].Name) > 0
		default:
			happened = false // adding the same file again changes nothing
		}
	}
	if happened {
		return "done"
	}
	return "repeat"
}

func (w *taskWork) commits() string {
	out, err := exec.Command("git", "-C", w.repo, "log", "--format=%s").Output()
	if err != nil {
		return "" // there is no commit yet
	}
	return string(out)
}

// wantEffectsOnce checks the commits, the memory and the files.
func (w *taskWork) wantEffectsOnce() {
	w.t.Helper()
	if got := w.commits(); got != "second\nfirst\n" {
		w.t.Errorf("commits: %q", got)
	}
	if got := w.git("-C", w.repo, "status", "--porcelain"); got != "" {
		w.t.Errorf("not committed: %s", got)
	}
	for _, name := range []string{"note", "a", "b", "c"} {
		if n := w.remembered(w.t, name); n != 1 {
			w.t.Errorf("the entity %s is there %d times", name, n)
		}
		if text, err := os.ReadFile(w.repo + "/" + name + ".txt"); err != nil || len(text) == 0 {
			w.t.Errorf("%s.txt: %q, %v", name, text, err)
		}
	}
	if text, err := os.ReadFile(w.repo + "/note.txt"); err != nil || string(text) != "written in UTC" {
		w.t.Errorf("note.txt: %q, %v", text, err)
	}
}
