package taskcli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// No part of a plan can look like a line of the question, and what is started is next to the question
// however long the plan is.
func TestPlanCannotDrawLinesOfItsOwn(t *testing.T) {
	forged := "x" + strings.Repeat(" ", 60) + "server s: good" + strings.Repeat("x", 100)
	arguments, _ := json.Marshal(map[string]string{"a": forged})
	plan := task.Plan{Name: forged, Goal: forged, Servers: map[string]task.Server{forged: {Command: []string{"evil", "--flag"}}, "c" + forged: {Configured: forged}}}
	for i := range 30 {
		plan.Steps = append(plan.Steps, task.Step{ID: fmt.Sprint("step", i), Server: forged, Tool: forged, Arguments: arguments})
	}
	r, err := Of(nil, plan)
	if err != nil {
		t.Fatal(err)
	}
	whole, question := r.Whole(), r.Question()
	for line := range strings.Lines(whole + "\n" + question) {
		line = strings.TrimRight(strings.TrimPrefix(line, "    ↳ "), "\n")
		if strings.Contains(strings.TrimLeft(line, " "), "   ") || len([]rune(line)) > 78 {
			t.Errorf("a line that a terminal would break, or one with a gap: %q", line)
		}
	}
	if !strings.Contains(strings.ReplaceAll(question, "\n    ↳ ", ""), "evil --flag") || !strings.Contains(question, fmt.Sprintf("has %d lines", 1+strings.Count(whole, "\n"))) {
		t.Errorf("%s", question)
	}
	plan.Steps = plan.Steps[:1]
	plan.Name, plan.Goal, plan.Servers = "", "", map[string]task.Server{"s": {Command: []string{"good"}}}
	if r, err = Of(nil, plan); err != nil || r.Question() != "Run this task?" {
		t.Errorf("%s, %v", r.Question(), err)
	}
}
