package main

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

func TestServerWithoutToolsIsNotSaidToWork(t *testing.T) {
	a := probe.Result{Found: probe.Found{Protocol: "2025-11-25", Toolless: true}, Evidence: upstream.Evidence{Stage: upstream.Listed, Stderr: []string{"no workspace configured"}}}
	report := doctor.Report{Healthy: true}
	text := showTest(launch.Spec{Command: "notes"}, a, report, false, "", false)
	if strings.Contains(text, "It works") || !strings.Contains(text, "does not list any tools") || !strings.Contains(text, "no workspace configured") {
		t.Error(text)
	}
	if testedOf(launch.Spec{Command: "notes"}, launch.Spec{Command: "notes"}, a, report).Note == "" {
		t.Error("nothing in the JSON")
	}
	a.Found.Toolless = false
	if text := showTest(launch.Spec{Command: "notes"}, a, report, false, "", false); !strings.Contains(text, "It works") {
		t.Error(text)
	}
}
