package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// A command that requires privileges is shown only at a terminal: programs, and the models that use
// them, get the advice without it.
func TestPrivilegedCommandsAreShownAtATerminalOnly(t *testing.T) {
	seen := doctor.FromLog("docker run -i notes", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock")
	seen.OS = "linux"
	d := doctor.Diagnose(seen)
	if text := showDiagnosis(d, terminal.Paint(false)); !strings.Contains(text, "\n        sudo usermod -aG docker $USER\n") {
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
	if text := showDiagnosis(d, terminal.Paint(false)); !strings.Contains(text, "Possible cause: It was slow.") || !strings.Contains(text, "- It was stopped. Start it.") {
		t.Error(text)
	}
	d.Confidence = 0.9
	if text := showDiagnosis(d, terminal.Paint(false)); strings.Contains(text, "Possible cause:") || strings.Contains(text, "Start it.") {
		t.Error(text)
	}
}

// --explain shows the clue that decided, the line it matched, and the cause that came second.
func TestTheDecisiveClueIsShown(t *testing.T) {
	seen := doctor.FromLog("npx -y notes", "Error: spawn npx ENOENT\nError: connect ECONNREFUSED 127.0.0.1:5432")
	seen.OS = "linux" // on Windows, npx is a script
	grounds := doctor.Explain(seen)
	if len(grounds) < 2 || grounds[0].Cause != doctor.Diagnose(seen).Cause {
		t.Fatalf("%+v", grounds)
	}
	text := showGrounds(grounds, terminal.Paint(false))
	for _, want := range []string{"Decided by: gui_path_missing (likely), fact program-missing", "spawn(?:Sync)?", "│ Error: spawn npx ENOENT", "causes/01-facts.cause:", "Second: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing\n%s", want, text)
		}
	}
	if text := showGrounds(nil, terminal.Paint(false)); text != "\nNo known cause matches.\n" {
		t.Error(text)
	}
}

func TestExplainIsPartOfTheJSON(t *testing.T) {
	var out strings.Builder
	cmd := diagnoseCommand()
	cmd.SetArgs([]string{"--explain", "--json", "--command", "uvx notes"})
	cmd.SetIn(strings.NewReader("Error: spawn uvx ENOENT"))
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	var got grounded
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.Cause != "gui_path_missing" || len(got.Grounds) == 0 || got.Grounds[0].Line != "Error: spawn uvx ENOENT" {
		t.Errorf("%v\n%s", err, out.String())
	}
}
