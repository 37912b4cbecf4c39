package verdict_test

import (
	"context"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/verdict"
	"github.com/gauze-mcp/gauze/internal/verdict/situations"
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

// Every cause in the table exists: a misspelt one would count as temporary.
func TestTheTableNamesKnownCauses(t *testing.T) {
	all, _ := situations.All()
	known := map[string]bool{}
	for _, e := range doctor.Entries() {
		known[string(e.Code)] = true
	}
	for _, row := range all {
		if row.Facts.Cause != "" && !known[row.Facts.Cause] {
			t.Errorf("%s: unknown cause %s", row.Name, row.Facts.Cause)
		}
	}
}
