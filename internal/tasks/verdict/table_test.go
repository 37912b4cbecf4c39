package verdict_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict/situations"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/llm"
)

// The rules alone decide at least 95 % of the table right.
func TestTheRulesDecideTheTable(t *testing.T) {
	all, err := situations.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Errorf("the table has only %d situations", len(all))
	}
	right, names := 0, map[string]bool{}
	for _, row := range all {
		if names[row.Name] || len(row.Right) == 0 || row.Why == "" {
			t.Errorf("%s is in the table twice, or lacks an answer or a reason", row.Name)
		}
		names[row.Name] = true
		got, err := verdict.Evaluate(context.Background(), row.Facts.Situation(doctor.Permanent), nil)
		if err != nil {
			t.Errorf("%s: %v", row.Name, err)
		}
		if slices.Contains(row.Right, got.Action) {
			right++
		} else {
			t.Logf("%s: %s, right is %v (%s): %s", row.Name, got.Action, row.Right, row.Why, got.Reason)
		}
	}
	t.Logf("%d of %d right", right, len(all))
	if right*100 < len(all)*95 {
		t.Errorf("only %d of %d right", right, len(all))
	}
}

// Each choice is one: the rules allow the right answer and a wrong one.
func TestTheChoicesAreChoices(t *testing.T) {
	all, err := situations.Choices()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("the table has only %d situations", len(all))
	}
	names := map[string]bool{}
	for _, row := range all {
		if names[row.Name] || len(row.Right) == 0 || len(strings.Fields(row.Why)) < 3 {
			t.Errorf("%s is in the table twice, or lacks an answer or an argument", row.Name)
		}
		names[row.Name] = true
		allowed := verdict.Allowed(row.Facts.Situation(doctor.Permanent))
		wrong := slices.ContainsFunc(allowed, func(a verdict.Action) bool { return !slices.Contains(row.Right, a) })
		for _, right := range row.Right {
			if !slices.Contains(allowed, right) {
				t.Errorf("%s: %s is not allowed", row.Name, right)
			}
		}
		if len(allowed) < 2 || !wrong && len(row.Right) == 1 {
			t.Errorf("%s is not a choice: %v", row.Name, allowed)
		}
	}
}

// stubborn is a model that always gives the same answer.
type stubborn string

func (m stubborn) Ask(context.Context, llm.Question) (llm.Answer, error) {
	if m == "" {
		return llm.Answer{}, errors.New("silent")
	}
	return llm.Answer{JSON: json.RawMessage(`{"action":"` + string(m) + `","reason":"","confidence":1}`)}, nil
}

// Whatever a model says, the verdict is within the bounds, and a silent one equals the rules.
func TestNoModelLeavesTheBounds(t *testing.T) {
	for _, row := range everything(t) {
		s := row.Facts.Situation(doctor.Permanent)
		alone, err := verdict.Evaluate(t.Context(), s, nil)
		if err != nil {
			t.Fatal(row.Name, err)
		}
		allowed := verdict.Allowed(s)
		for _, m := range []stubborn{"", "continue", "retry_connection", "stop_task", "restart"} {
			v, err := verdict.Evaluate(t.Context(), s, m)
			if err != nil || !slices.Contains(allowed, v.Action) {
				t.Errorf("%s: a model that says %q causes %s, allowed is %v (%v)", row.Name, m, v.Action, allowed, err)
			}
			if m == "" && (v.Action != alone.Action || v.Reason != alone.Reason || v.Confidence != alone.Confidence || v.By != verdict.ByRules) {
				t.Errorf("%s: a silent model causes %+v, the rules %+v", row.Name, v, alone)
			}
		}
	}
}

func everything(t *testing.T) []situations.Situation {
	all, err := situations.All()
	if err != nil {
		t.Fatal(err)
	}
	choices, err := situations.Choices()
	if err != nil {
		t.Fatal(err)
	}
	return append(all, choices...)
}

// Every cause in the tables exists: a misspelt one would count as temporary.
func TestTheTableNamesKnownCauses(t *testing.T) {
	known := map[string]bool{}
	for _, e := range doctor.Entries() {
		known[string(e.Code)] = true
	}
	for _, row := range everything(t) {
		if row.Facts.Cause != "" && !known[row.Facts.Cause] {
			t.Errorf("%s: unknown cause %s", row.Name, row.Facts.Cause)
		}
	}
}
