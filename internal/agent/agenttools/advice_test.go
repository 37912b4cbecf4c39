package agenttools

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// A model gets our own advice as it is written: a placeholder in it is not a secret.
func TestAdviceKeepsItsPlaceholders(t *testing.T) {
	const todo = "Send the token in a header: `gauze run --url https://a.example/mcp --header-env Authorization=NAME`"
	report := doctor.Report{Todo: todo, Diagnosis: &doctor.Diagnosis{Cause: "http_unauthorized", Fix: todo}}
	h := healingOf(launch.Spec{URL: "https://a.example/mcp"}, launch.Spec{}, probe.Result{}, report)
	if h.Next != todo || h.Diagnosis.Fix != todo {
		t.Errorf("next: %s\nfix: %s", h.Next, h.Diagnosis.Fix)
	}
}
