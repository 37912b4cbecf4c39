//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// gauze mcp is killed in the middle of an agent's task. A new one continues it, and every effect
// happens once.
func TestAgentsTaskSurvivesAKill(t *testing.T) {
	t.Parallel()
	h := newAgentHome(t)
	ledger := filepath.Join(h.dir, "ledger")
	h.program("notes", "-ledger", ledger, "-state", filepath.Join(h.dir, "served"))
	h.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"notes": {"command": %q}}}`, filepath.Join(h.dir, "notes")))
	start := func() (session *mcp.ClientSession, kill func()) {
		cmd := h.command("gauze", "mcp")
		cmd.Env = append(cmd.Env, "GAUZE_STATE_DIR="+filepath.Join(h.dir, "state"))
		session = connect(t, cmd, "2025-11-25", agreeable(func(string) {}))
		return session, func() { cmd.Process.Kill() }
	}
	var steps []object
	var keys []string
	for i := range 8 {
		keys = append(keys, fmt.Sprintf("k%d", i))
		steps = append(steps, object{"id": keys[i], "server": "n", "tool": "append", "arguments": object{"key": keys[i], "ms": 50}})
	}
	session, kill := start()
	taskIn := func(data object) object { return data["task"].(object) }
	data, _ := callTool(t, session, "run_task", object{"plan": object{"servers": object{"n": "cursor/notes"}, "steps": steps}, "wait_seconds": 0.01})
	id := taskIn(data)["id"]
	for {
		data, _ = callTool(t, session, "get_task", object{"id": id})
		if done, _ := taskIn(data)["steps_done"].(float64); done >= 3 {
			break
		}
	}
	kill()
	session, _ = start()
	if data, text := callTool(t, session, "get_task", object{"id": id}); taskIn(data)["state"] != "killed" {
		t.Fatalf("%s", text)
	}
	again := object{"id": id, "wait_seconds": 60}
	data, text := callTool(t, session, "resume_task", again)
	if taskIn(data)["state"] == "needs-decision" { // it was killed during a call
		calls := taskIn(data)["calls"].([]any)
		last := calls[len(calls)-1].(object)["step"].(string)
		again["decision"] = "repeat"
		if slices.Contains(effectsIn(t, ledger), last) {
			again["decision"] = "done"
		}
		data, text = callTool(t, session, "resume_task", again)
	}
	if got := effectsIn(t, ledger); taskIn(data)["state"] != "done" || !slices.Equal(got, keys) {
		t.Errorf("effects %v\n%s", got, text)
	}
	// The user's own commands know the task.
	cmd := h.command("gauze", "task", "show", "--json", id.(string))
	cmd.Env = append(cmd.Env, "GAUZE_STATE_DIR="+filepath.Join(h.dir, "state"))
	out, err := cmd.Output()
	var shown struct{ Status string }
	if err != nil || json.Unmarshal(out, &shown) != nil || shown.Status != "done" {
		t.Errorf("%v: %s", err, strings.TrimSpace(string(out)))
	}
}

func effectsIn(t *testing.T, ledger string) (keys []string) {
	t.Helper()
	entries, _, err := faultyserver.ReadLedger(ledger)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}
