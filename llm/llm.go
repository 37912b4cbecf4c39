// Package llm asks language models questions whose answers are JSON.
//
// Gauze works without a model. With one, it can correct a tool call that rules cannot repair, judge
// whether a failing server is worth waiting for, and rank the possible causes of a failure. What a
// model answers is untrusted input: [Model] only guarantees that an answer matches the schema of
// its question, and every caller checks what it says.
//
//	llm.go         Model, Question, Answer
//	errors.go      Error: every way in which a question fails, and what to do
//	client.go      one question over HTTP: timeout, retries, fallback without a schema
//	http.go        what a response or the lack of one means
//	openai.go      OpenAI and compatible servers
//	anthropic.go   Anthropic
//	gemini.go      Gemini; gemini_schema.go translates schemas to its dialect
//	sampling.go    the model of a connected MCP client
//	answer.go      the one JSON object in a model's text, validated
//	limit.go       questions per minute, and their size
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
)

// Model answers questions. Implementations are safe for concurrent use.
type Model interface {
	// Ask returns JSON that matches the schema of the question, or an error, which is an [*Error]
	// unless the question itself is invalid. It returns when ctx is done. After an error, the
	// Answer has no JSON, but its other fields are set as far as they are known.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one question to a model.
type Question struct {
	// Name identifies the kind of question, such as "corrected_call". Providers require letters,
	// digits and underscores. Default "answer".
	Name string
	// Instructions is what the model is asked to do. It must not contain text from elsewhere.
	Instructions string
	// Text is the material of the question. It may quote untrusted text.
	Text string
	// Schema is the JSON schema of the answer. Its root is an object.
	Schema json.RawMessage
	// MaxTokens limits the answer. Default 1024.
	MaxTokens int
}

func (q Question) withDefaults() Question {
	q.Name = cmp.Or(q.Name, "answer")
	if q.MaxTokens <= 0 {
		q.MaxTokens = DefaultMaxTokens
	}
	return q
}

// Answer is a model's answer.
type Answer struct {
	// JSON matches the schema of the question.
	JSON json.RawMessage
	// Model is the name of the model that answered.
	Model string
	// Usage is what the answer cost.
	Usage Usage
	// Took is how long the answer took, including retries.
	Took time.Duration
	// Enforced means that the provider accepted the schema. Otherwise the schema was part of the
	// prompt. The answer is validated in either case.
	Enforced bool
}

// Usage is what an answer cost.
type Usage struct {
	// InputTokens is the length of the question.
	InputTokens int
	// OutputTokens is the length of the answer.
	OutputTokens int
	// Cost is in US dollars, 0 if prices are not configured.
	Cost float64
}
