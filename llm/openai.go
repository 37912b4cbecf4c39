package llm

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// OpenAIURL is the base URL of OpenAI's own server.
const OpenAIURL = "https://api.openai.com/v1"

// OpenAI returns a model of OpenAI, or of a server with the same API, such as Ollama, LM Studio,
// vLLM or llama.cpp. A server that does not support JSON schemas gets the schema in the prompt.
func OpenAI(o Options) (Model, error) {
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	at, _ := url.Parse(cmp.Or(o.URL, OpenAIURL))
	return newClient(o, openAI{o.Model, at != nil && at.Host == "api.openai.com"}, OpenAIURL, header)
}

// openAI is the format of the chat completions API.
type openAI struct {
	model string
	own   bool // OpenAI's own server, whose newer models reject max_tokens and temperature
}

func (d openAI) request(q Question, plain bool) outgoing {
	body := map[string]any{
		"model":    d.model,
		"messages": []any{chatMessage("system", instructions(q, plain)), chatMessage("user", q.Text)},
		"stream":   false,
	}
	if d.own {
		body["max_completion_tokens"] = q.MaxTokens + thinkingTokens
	} else {
		body["max_tokens"], body["temperature"] = q.MaxTokens, 0
	}
	if !plain {
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": q.Name, "schema": q.Schema, "strict": isStrict(q.Schema),
		}}
	}
	return outgoing{"/chat/completions", body, !plain}
}

func chatMessage(role, text string) any { return map[string]any{"role": role, "content": text} }

// instructions returns what the model is asked to do, with plain including the form of the answer.
func instructions(q Question, plain bool) string {
	if !plain {
		return q.Instructions
	}
	return q.Instructions + "\n\nAnswer with exactly one JSON object and nothing else. It must match this JSON schema:\n" + string(q.Schema)
}

func (openAI) unsupported(status int, words string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	case http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusInternalServerError:
		return mentions(words, "response_format", "json_schema", "schema", "grammar")
	}
	return false
}

// mentions reports whether a server's words contain one of the terms.
func mentions(words string, terms ...string) bool {
	words = strings.ToLower(words)
	return slices.ContainsFunc(terms, func(term string) bool { return strings.Contains(words, term) })
}

func (openAI) read(body []byte) (reply, *Error) {
	var r struct {
		Model   string
		Choices []struct {
			Message struct {
				Content string
				Refusal string
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Input  count `json:"prompt_tokens"`
			Output count `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(body, &r); err != nil || len(r.Choices) == 0 {
		return reply{}, &Error{Kind: NotAPI, Detail: "the response has no choices"}
	}
	said, choice := reply{r.Choices[0].Message.Content, r.Model, int(r.Usage.Input), int(r.Usage.Output)}, r.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return said, &Error{Kind: Refused, Detail: choice.Message.Refusal}
	case choice.FinishReason == "content_filter":
		return said, &Error{Kind: Refused, Detail: "the provider's content filter"}
	case choice.FinishReason == "length":
		return said, tooLong()
	}
	return said, nil
}

// tooLong is the error for an answer that reached the limit of tokens.
func tooLong() *Error {
	return &Error{Kind: CutShort, Detail: "the answer reached the token limit"}
}

// strictKeywords are those that OpenAI's strict mode supports everywhere.
var strictKeywords = map[string]bool{"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true, "enum": true, "description": true}

// isStrict reports whether a schema meets the conditions of OpenAI's strict mode: every object is
// closed, and all of its properties are required.
func isStrict(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || len(fields) == 0 {
		return false
	}
	for name := range fields {
		if !strictKeywords[name] {
			return false
		}
	}
	var s struct {
		Type       any
		Properties map[string]json.RawMessage
		Required   []string
		Closed     any `json:"additionalProperties"`
		Items      json.RawMessage
	}
	if json.Unmarshal(raw, &s) != nil || s.Type == nil {
		return false
	}
	if s.Type == "object" && (s.Closed != false || len(s.Required) != len(s.Properties)) {
		return false
	}
	if s.Type == "array" && !isStrict(s.Items) {
		return false
	}
	for _, property := range s.Properties {
		if !isStrict(property) {
			return false
		}
	}
	return true
}
