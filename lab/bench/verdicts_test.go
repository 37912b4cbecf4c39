package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/verdict/situations"
	"github.com/gauze-mcp/gauze/llm"
)

type scriptedModel func(llm.Question) string

func (m scriptedModel) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	return llm.Answer{JSON: json.RawMessage(m(q)), Model: "scripted", Usage: llm.Usage{InputTokens: 10, OutputTokens: 1}}, nil
}

func TestVerdictsCountWhatAModelChanged(t *testing.T) {
	all, err := situations.All()
	if err != nil {
		t.Fatal(err)
	}
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
		rep, err := judgeVerdicts(context.Background(), all, row.model)
		if err != nil {
			t.Fatal(err)
		}
		got := rep.Rows[1]
		if rep.Pass != row.pass || got.Overruled > 0 != row.overruled || got.Deviated > 0 != row.deviated || got.Questions == 0 || got.Tokens != 11*got.Questions {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
