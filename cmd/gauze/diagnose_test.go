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
