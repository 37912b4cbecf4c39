package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict/situations"
	"github.com/gauze-mcp/gauze/llm"
)

type scriptedModel func(llm.Question) string

func (m scriptedModel) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	return llm.Answer{JSON: json.RawMessage(m(q)), Model: "scripted", Usage: llm.Usage{InputTokens: 10, OutputTokens: 1}}, nil
}

func TestVerdictsCountWhatAModelChanged(t *testing.T) {
	for name, row := range map[string]struct {
		model               scriptedModel
		pass                bool
		overruled, deviated bool
	}{
		"always restarts": {func(llm.Question) string { return `{"action":"restart","reason":"","confidence":1}` }, true, true, false},
		"reads the goal": {func(q llm.Question) string {
			if strings.Contains(q.Text, "only then delete") {
				return `{"action":"stop_task","reason":"","confidence":0.9}`
			}
			return `{}`
		}, true, true, true},
		"always stops": {func(llm.Question) string { return `{"action":"stop_task","reason":"","confidence":1}` }, false, false, true},
	} {
		rep, err := judgeVerdicts(t.Context(), func(situations.Situation) llm.Model { return row.model })
		if err != nil {
			t.Fatal(err)
		}
		got := rep.row(ruledTable, "rules and model")
		if rep.Pass != row.pass || got.Overruled > 0 != row.overruled || got.Deviated > 0 != row.deviated || got.Questions == 0 || got.Tokens != 11*got.Questions {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The recorded answers of a reader who saw the questions, and neither the names of the situations nor
// the right answers, beat the rules alone by at least ten points, and none is outside of the bounds.
func TestRecordedAnswersBeatTheRules(t *testing.T) {
	ask, err := recordedVerdicts("testdata/verdict-answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := judgeVerdicts(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	rules, both := rep.row(choiceTable, "rules"), rep.row(choiceTable, "rules and model")
	t.Logf("of %d choices, the rules alone are right on %d, bounding the recorded answers on %d", rep.Choices, rules.Right, both.Right)
	if rep.Choices < 40 || both.Questions != rep.Choices || both.Overruled > 0 {
		t.Errorf("%d choices, %d questions, %d answers out of bounds", rep.Choices, both.Questions, both.Overruled)
	}
	if !rep.Pass || (both.Right-rules.Right)*100 < 10*rep.Choices {
		t.Errorf("the rules are right on %d of %d, with the answers on %d; wrong: %q", rules.Right, rep.Choices, both.Right, both.Wrong)
	}
}

// A situation without a recorded answer is decided as by the rules alone.
func TestNoRecordedAnswersEqualTheRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ask, err := recordedVerdicts(file)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := judgeVerdicts(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{ruledTable, choiceTable} {
		rules, both := rep.row(table, "rules"), rep.row(table, "rules and model")
		if !slices.Equal(rules.Wrong, both.Wrong) || both.Questions == 0 || both.Overruled != both.Questions || both.Deviated > 0 {
			t.Errorf("%s: %+v, the rules %+v", table, both, rules)
		}
	}
}
