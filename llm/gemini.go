package llm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// GeminiURL is the base URL of Google's own server.
const GeminiURL = "https://generativelanguage.googleapis.com"

// Gemini returns a model of Google. Its schemas cannot express all of JSON Schema: a schema with an
// open object, for example, is put into the prompt.
func Gemini(o Options) (Model, error) {
	header := http.Header{}
	if o.Key != "" {
		header.Set("X-Goog-Api-Key", o.Key)
	}
	name := strings.TrimPrefix(o.Model, "models/")
	return newClient(o, gemini{versioned(o.URL, "/v1beta") + "/models/" + url.PathEscape(name) + ":generateContent"}, GeminiURL, header)
}

// gemini is the format of generateContent.
type gemini struct{ path string }

func (d gemini) request(q Question, plain bool) outgoing {
	config := map[string]any{"responseMimeType": "application/json", "maxOutputTokens": q.MaxTokens + thinkingTokens, "temperature": 0}
	if schema, ok := geminiSchema(q.Schema); ok && !plain {
		config["responseSchema"] = schema
	} else {
		plain = true
	}
	return outgoing{d.path, map[string]any{
		"systemInstruction": map[string]any{"parts": textPart(instructions(q, plain))},
		"contents":          []any{map[string]any{"role": "user", "parts": textPart(q.Text)}},
		"generationConfig":  config,
	}, !plain}
}

func textPart(text string) any { return []any{map[string]any{"text": text}} }

func (gemini) unsupported(status int, words string) bool {
	return status == http.StatusBadRequest && mentions(words, "schema")
}

func (gemini) read(body []byte) (reply, *Error) {
	var r struct {
		ModelVersion string
		Candidates   []struct {
			Content struct {
				Parts []struct {
					Text    string
					Thought bool
				}
			}
			FinishReason string
		}
		PromptFeedback struct{ BlockReason string }
		UsageMetadata  struct{ PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount count }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return reply{}, &Error{Kind: NotAPI, Detail: "the response has no candidates"}
	}
	usage := r.UsageMetadata
	said := reply{"", r.ModelVersion, int(usage.PromptTokenCount), int(usage.CandidatesTokenCount + usage.ThoughtsTokenCount)}
	if r.PromptFeedback.BlockReason != "" {
		return said, &Error{Kind: Refused, Detail: "the prompt was blocked: " + r.PromptFeedback.BlockReason}
	}
	if len(r.Candidates) == 0 {
		return said, &Error{Kind: NotAPI, Detail: "the response has no candidates"}
	}
	for _, part := range r.Candidates[0].Content.Parts {
		if !part.Thought {
			said.text += part.Text
		}
	}
	switch reason := r.Candidates[0].FinishReason; reason {
	case "", "STOP":
		return said, nil
	case "MAX_TOKENS":
		return said, tooLong()
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE":
		return said, &Error{Kind: Refused, Detail: "the answer was blocked: " + reason}
	default:
		return said, &Error{Kind: InvalidAnswer, Detail: "the answer ended early, with the reason " + reason}
	}
}
