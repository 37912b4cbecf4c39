package modeltest

import (
	"encoding/json"
	"strings"
)

// question returns what a request in this format asks.
func (f Format) question(body []byte) (q Question) {
	type message struct {
		Role    string
		Content json.RawMessage
	}
	type parts struct{ Parts []struct{ Text string } }
	var r struct {
		System         string
		Messages       []message
		ResponseFormat struct {
			Schema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
		Tools []struct {
			Schema json.RawMessage `json:"input_schema"`
		}
		SystemInstruction parts
		Contents          []parts
		GenerationConfig  struct{ ResponseSchema json.RawMessage }
	}
	if json.Unmarshal(body, &r) != nil {
		return q
	}
	q.Instructions = r.System
	for _, m := range r.Messages {
		var text string
		json.Unmarshal(m.Content, &text) // other content is not text
		if m.Role == "system" {
			q.Instructions = text
		} else {
			q.Text += text
		}
	}
	for _, p := range r.SystemInstruction.Parts {
		q.Instructions += p.Text
	}
	for _, content := range r.Contents {
		for _, p := range content.Parts {
			q.Text += p.Text
		}
	}
	for _, schema := range []json.RawMessage{r.ResponseFormat.Schema.Schema, r.GenerationConfig.ResponseSchema} {
		if schema != nil {
			q.Schema = schema
		}
	}
	if len(r.Tools) > 0 {
		q.Schema = r.Tools[0].Schema
	}
	return q
}

// ending is how an answer ends.
type ending int

const (
	complete ending = iota
	atLimit
	refused
)

// success returns the body of a response with an answer.
func (f Format) success(q Question, text string, end ending) any {
	const model, input, output = "scripted-1", 100, 20
	switch f {
	case AnthropicFormat:
		content := map[string]any{"type": "text", "text": text}
		if input := strings.TrimSpace(text); end == complete && q.Schema != nil && json.Valid([]byte(input)) && strings.HasPrefix(input, "{") {
			content = map[string]any{"type": "tool_use", "id": "toolu_1", "name": "answer", "input": json.RawMessage(input)}
		}
		return map[string]any{"type": "message", "role": "assistant", "model": model, "content": []any{content},
			"stop_reason": []string{"tool_use", "max_tokens", "refusal"}[end],
			"usage":       map[string]any{"input_tokens": input, "output_tokens": output}}
	case GeminiFormat:
		candidate := map[string]any{"finishReason": []string{"STOP", "MAX_TOKENS", "SAFETY"}[end], "index": 0}
		if end != refused {
			candidate["content"] = map[string]any{"role": "model", "parts": []any{map[string]any{"text": text}}}
		}
		return map[string]any{"modelVersion": model, "candidates": []any{candidate},
			"usageMetadata": map[string]any{"promptTokenCount": input, "candidatesTokenCount": output}}
	}
	message := map[string]any{"role": "assistant", "content": text, "refusal": nil}
	if end == refused {
		message["content"], message["refusal"] = nil, text
	}
	return map[string]any{"object": "chat.completion", "model": model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": []string{"stop", "length", "stop"}[end]}},
		"usage":   map[string]any{"prompt_tokens": input, "completion_tokens": output}}
}

// failure returns the body of a response with an error.
func (f Format) failure(status int, message string) any {
	switch f {
	case AnthropicFormat:
		return map[string]any{"type": "error", "error": map[string]any{"type": "api_error", "message": message}}
	case GeminiFormat:
		return map[string]any{"error": map[string]any{"code": status, "message": message, "status": "ERROR"}}
	}
	return map[string]any{"error": map[string]any{"message": message, "type": "error", "param": nil, "code": nil}}
}

// schemaError is how a server says that it does not support the schema.
func (f Format) schemaError() string {
	switch f {
	case AnthropicFormat:
		return "tools.0.custom.input_schema: schema is not supported"
	case GeminiFormat:
		return "Invalid JSON payload received: response_schema is not supported"
	}
	return "response_format json_schema is not supported"
}
