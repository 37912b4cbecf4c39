package llm

import (
	"encoding/json"
	"net/http"
	"strings"
)

// AnthropicURL is the base URL of Anthropic's own server.
const AnthropicURL = "https://api.anthropic.com"

// Anthropic returns a model of Anthropic. The schema is the input of a tool that the model must
// use.
func Anthropic(o Options) (Model, error) {
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if o.Key != "" {
		header.Set("X-Api-Key", o.Key)
	}
	return newClient(o, anthropic{o.Model, versioned(o.URL, "/v1")}, AnthropicURL, header)
}

// versioned returns the version of an API, or "" if a base URL ends with one.
func versioned(base, version string) string {
	base = strings.TrimRight(base, "/")
	if strings.HasSuffix(base, "/v1") || strings.HasSuffix(base, "/v1beta") {
		return ""
	}
	return version
}

// anthropic is the format of the messages API.
type anthropic struct{ model, version string }

func (d anthropic) request(q Question, plain bool) outgoing {
	body := map[string]any{
		"model":      d.model,
		"max_tokens": q.MaxTokens,
		"system":     instructions(q, plain),
		"messages":   []any{chatMessage("user", q.Text)},
	}
	if !plain {
		body["tools"] = []any{map[string]any{"name": q.Name, "description": "Receives the answer.", "input_schema": q.Schema}}
		body["tool_choice"] = map[string]any{"type": "tool", "name": q.Name}
	}
	return outgoing{d.version + "/messages", body, !plain}
}

func (anthropic) unsupported(status int, words string) bool {
	return (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) && mentions(words, "tool", "schema")
}

func (anthropic) read(body []byte) (reply, *Error) {
	var r struct {
		Model   string
		Content []struct {
			Type  string
			Text  string
			Input json.RawMessage
		}
		StopReason string `json:"stop_reason"`
		Usage      struct {
			Input  count `json:"input_tokens"`
			Output count `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(body, &r); err != nil || r.Content == nil && r.StopReason == "" {
		return reply{}, &Error{Kind: NotAPI, Detail: "the response has no content"}
	}
	said := reply{"", r.Model, int(r.Usage.Input), int(r.Usage.Output)}
	var text, inputs []string
	for _, part := range r.Content {
		switch part.Type {
		case "tool_use":
			inputs = append(inputs, string(part.Input))
		case "text":
			text = append(text, part.Text)
		}
	}
	if said.text = strings.Join(inputs, "\n"); inputs == nil {
		said.text = strings.Join(text, "\n")
	}
	switch r.StopReason {
	case "refusal":
		return said, &Error{Kind: Refused, Detail: strings.Join(text, " ")}
	case "max_tokens", "model_context_window_exceeded":
		return said, tooLong()
	}
	return said, nil
}
