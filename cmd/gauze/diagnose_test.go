package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/doctor"
)

// A command that requires privileges is shown only at a terminal: programs, and the models that use
// them, get the advice without it.
func TestPrivilegedCommandsAreShownAtATerminalOnly(t *testing.T) {
	seen := doctor.FromLog("docker run -i notes", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock")
	seen.OS = "linux"
	d := doctor.Diagnose(seen)
	if text := showDiagnosis(d, paint(false)); !strings.Contains(text, "\n        sudo usermod -aG docker $USER\n") {
		t.Error(text)
	}
	text, err := json.Marshal(d)
	if text := string(text); err != nil || strings.Contains(text, "sudo") || !strings.Contains(text, "docker_socket_permission") {
		t.Error(text)
	}
}

// A report may contain the server's entry, which shows causes that its log does not.
func TestABatchReadsTheEntryOfAReport(t *testing.T) {
	var out strings.Builder
	reports := `{"id":1,"entry":{"client":"codex","url":"https://a.example/sse"},"evidence":"notes failed to start"}
{"id":2,"entry":{"client":"claude-desktop","url":"https://a.example/mcp"},"evidence":"Server disconnected"}
{"id":3,"entry":{"command":"docker","args":["run","-i","-e","A_TOKEN","notes"],"env":{}},"evidence":"HTTP 401"}
{"id":4,"entry":{"command":"npx","args":["docker","run","notes"]},"evidence":"Connection closed"}
{"id":5,"command":"npx notes","evidence":"Connection closed"}
`
	if err := diagnoseBatch(strings.NewReader(reports), &out, doctor.Diagnose); err != nil {
		t.Fatal(err)
	}
	want := []string{"sse_vs_streamable", "url_in_stdio_only_client", "env_not_forwarded_to_container", "runner_in_arguments", "evidence_missing_stderr"}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var got verdict
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Cause != want[i] {
			t.Errorf("report %d: %s, want %s (%v)", i+1, line, want[i], err)
		}
	}
}

// A cause that the evidence only suggests is shown as possible, with the next one and its fix.
func TestATentativeCauseIsShownWithTheNextOne(t *testing.T) {
	d := doctor.Diagnosis{Category: doctor.Timeout, Cause: "a", Confidence: 0.5, Explanation: "It was slow.", Fix: "Wait.",
		Others: []doctor.Diagnosis{{Cause: "b", Explanation: "It was stopped.", Fix: "Start it."}}}
	if text := showDiagnosis(d, paint(false)); !strings.Contains(text, "Possible cause: It was slow.") || !strings.Contains(text, "- It was stopped. Start it.") {
		t.Error(text)
	}
	d.Confidence = 0.9
	if text := showDiagnosis(d, paint(false)); strings.Contains(text, "Possible cause:") || strings.Contains(text, "Start it.") {
		t.Error(text)
	}
}
