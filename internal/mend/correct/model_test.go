package correct

import (
	"context"
	"encoding/json"

	"github.com/gauze-mcp/gauze/llm"
)

// modelFunc is a model for tests.
type modelFunc func(llm.Question) (string, error)

func (f modelFunc) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	text, err := f(q)
	return llm.Answer{JSON: json.RawMessage(text), Model: "fake", Usage: llm.Usage{InputTokens: 7, OutputTokens: 3}}, err
}
