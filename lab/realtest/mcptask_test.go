//go:build linux

package realtest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// The TypeScript SDK runs run_task of gauze mcp as a task of the protocol.
func TestTypeScriptClientRunsATask(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	command, err := json.Marshal(realparts.Need(t, realparts.Memory))
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "task.yaml", fmt.Sprintf(`name: remember
servers:
  memory: {command: %s, env: {MEMORY_FILE_PATH: %q}}
steps:
  - {id: add, server: memory, tool: create_entities, arguments: {entities: [{name: note, entityType: file, observations: [kept]}]}}
  - {id: read, server: memory, tool: read_graph}
`, command, w.path("memory.jsonl")))
	script, err := filepath.Abs("testdata/tasks.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), realparts.Node(t), script, w.path("task.yaml"), gauzeBinary(), "mcp", "--tools", "all")
	cmd.Dir, cmd.Stderr = w.dir, stderrOf(t)
	cmd.Env = append(environment(nil), "NODE_PATH="+realparts.Modules(t), "HOME="+w.dir, "GAUZE_STATE_DIR="+w.path("state"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var saw struct {
		ID, Asked, Error, Late      string
		Supported, Statuses, Listed []string
		Got                         struct{ Status, StatusMessage string }
		Result                      struct {
			StructuredContent struct{ Task struct{ ID, State string } }
		}
	}
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	slices.Sort(saw.Supported)
	ran := saw.Result.StructuredContent.Task
	switch {
	case !slices.Equal(saw.Supported, []string{"resume_task", "run_task"}),
		saw.Error != "", ran.State != "done", ran.ID != saw.ID, !strings.HasPrefix(saw.ID, "remember-"),
		saw.Asked != saw.ID, len(saw.Statuses) == 0, !slices.Contains(saw.Listed, saw.ID),
		saw.Got.Status != "completed", !strings.Contains(saw.Late, "already completed"):
		t.Errorf("the client received %s", out)
	}
}
