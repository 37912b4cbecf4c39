//go:build windows

package windows

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// The first server hangs after four messages: initialize, initialized, tools/list and the first call.
func TestATaskThatIsKilledResumes(t *testing.T) {
	dir := t.TempDir()
	ledger := filepath.Join(dir, "ledger")
	call := func(id, tool string, arguments map[string]string) map[string]any {
		return map[string]any{"id": id, "server": "s", "tool": tool, "arguments": arguments}
	}
	plan, err := json.Marshal(map[string]any{
		"name":    "killed",
		"servers": map[string]any{"s": map[string]any{"command": []string{part(t, "faultyserver.exe"), "-ledger", ledger, "-state", filepath.Join(dir, "counts"), "-hang=1,n=4"}}},
		"steps": []any{
			call("a", "append", map[string]string{"key": "one"}),
			call("b", "echo", map[string]string{"text": "hello"}),
			call("c", "append", map[string]string{"key": "two"}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plan.json"), plan, 0o600); err != nil {
		t.Fatal(err)
	}
	gauze := func(args ...string) *exec.Cmd {
		cmd := exec.Command(part(t, "gauze.exe"), append([]string{"task"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GAUZE_STATE_DIR="+filepath.Join(dir, "state"))
		return cmd
	}
	killAfterFirstCall(t, gauze("run", "--yes", "plan.json"))
	list, err := gauze("list").CombinedOutput()
	id := regexp.MustCompile(`killed-[a-z0-9]{6}`).FindString(string(list))
	if err != nil || id == "" {
		t.Fatalf("gauze task list: %v\n%s", err, list)
	}
	if said, err := gauze("resume", id).CombinedOutput(); err != nil || !strings.Contains(string(said), "is done: 3 of 3 steps") {
		t.Errorf("gauze task resume: %v\n%s", err, said)
	}
	entries, _, err := faultyserver.ReadLedger(ledger)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	if !slices.Equal(keys, []string{"one", "two"}) {
		t.Errorf("the effects are %v", keys)
	}
	t.Logf("taskkill of a task: resumed, each of %d effects once", len(keys))
}

// killAfterFirstCall runs a task and kills its process when the first call was answered.
func killAfterFirstCall(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	alarm := time.AfterFunc(tooLong, func() { cmd.Process.Kill() })
	defer alarm.Stop()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		t.Log(lines.Text())
		if strings.Contains(lines.Text(), "s/append") {
			taskkill(t, cmd.Process.Pid)
		}
	}
	cmd.Wait()
}
