package llm

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Sampling returns the model of a connected MCP client. create sends the params of
// sampling/createMessage to the client and returns its result. Only the context limits the time,
// because the client may ask its user.
func Sampling(create func(ctx context.Context, request json.RawMessage) (json.RawMessage, error)) Model {
	return sampling(create)
}

type sampling func(context.Context, json.RawMessage) (json.RawMessage, error)

// Ask implements Model.
func (create sampling) Ask(ctx context.Context, q Question) (Answer, error) {
	began := time.Now()
	schema, err := compileSchema(q.Schema)
	if err != nil {
		return Answer{}, err
	}
	q = q.withDefaults()
	request, err := json.Marshal(map[string]any{
		"systemPrompt":   instructions(q, true),
		"messages":       []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": q.Text}}},
		"includeContext": "none",
		"maxTokens":      q.MaxTokens,
		"temperature":    0,
	})
	if err != nil {
		return Answer{}, err
	}
	result, err := create(ctx, request)
	answer := Answer{Took: time.Since(began)}
	var failure *Error
	switch {
	case ctx.Err() != nil:
		failure = stopped(ctx)
	case err != nil:
		failure = &Error{Kind: Refused, Detail: err.Error(), cause: err}
	default:
		failure = answer.sampled(result, schema)
	}
	if failure != nil {
		failure.Server, failure.Model, failure.Detail = "the client", answer.Model, redact.Quote(failure.Detail)
		return answer, failure
	}
	return answer, nil
}

// sampled reads the result of sampling/createMessage.
func (a *Answer) sampled(result json.RawMessage, schema answerSchema) *Error {
	var r struct {
		Model      string
		Content    json.RawMessage
		StopReason string
	}
	if len(result) > maxBody || json.Unmarshal(result, &r) != nil {
		return &Error{Kind: InvalidAnswer, Detail: "the result is not a message"}
	}
	a.Model = redact.Quote(r.Model)
	switch r.StopReason {
	case "maxTokens":
		return tooLong()
	case "refusal":
		return &Error{Kind: Refused}
	}
	answer, err := schema.read(messageText(r.Content))
	if err != nil {
		return &Error{Kind: InvalidAnswer, Detail: err.Error()}
	}
	a.JSON = answer
	return nil
}

// messageText returns the text of a message, whose content is one block or a list of them.
func messageText(content json.RawMessage) string {
	type block struct{ Type, Text string }
	var list []block
	if json.Unmarshal(content, &list) != nil {
		var one block
		json.Unmarshal(content, &one) // what is not a block has no text
		list = []block{one}
	}
	var text []string
	for _, b := range list {
		if b.Type == "text" {
			text = append(text, b.Text)
		}
	}
	return strings.Join(text, "\n")
}
