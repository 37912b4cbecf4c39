package llm

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Kind is why a question got no answer.
type Kind string

// The kinds of errors.
const (
	Unauthorized  Kind = "unauthorized"   // the key is missing, invalid or not allowed to do this
	NotFound      Kind = "not found"      // the server does not have the model
	NotAPI        Kind = "not an API"     // the URL does not lead to the API of a model: a wrong path, a login page, a proxy
	Rejected      Kind = "rejected"       // the server considers the request invalid
	RateLimited   Kind = "rate limited"   // the provider's limit is reached
	Overloaded    Kind = "overloaded"     // the server failed or has no capacity
	TimedOut      Kind = "timeout"        // no answer within the timeout, including retries
	Unreachable   Kind = "unreachable"    // the server cannot be reached
	Refused       Kind = "refused"        // the model or the client declined to answer
	CutShort      Kind = "cut short"      // the answer ended before it was complete
	InvalidAnswer Kind = "invalid answer" // the answer is not one JSON object that matches the schema
	OverBudget    Kind = "over budget"    // the question was not sent, see Limit
	Canceled      Kind = "canceled"       // the caller canceled the question
)

// Error is why a question got no answer. It never contains a key.
type Error struct {
	Kind   Kind   // why, for programs
	Server string // the host of the model, or "the client"
	Model  string // as configured
	Status int    // of the HTTP response; 0 if there was none
	// Detail is more about the failure, such as the server's own words, cleaned and shortened.
	Detail string
	// RetryAfter is how long the server asked to wait; 0 if it did not.
	RetryAfter time.Duration

	asked bool // RetryAfter is set, and may be 0
	cause error
}

// Error says what happened and what to do, in one sentence.
func (e *Error) Error() string {
	text := strings.NewReplacer("{subject}", e.subject(), "{server}", cmp.Or(redact.Quote(e.Server), "the server"),
		"{model}", strings.TrimSpace("the model "+redact.Quote(e.Model))).Replace(sentences[e.Kind])
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Unwrap returns the cause, such as context.Canceled.
func (e *Error) Unwrap() error { return e.cause }

// sentences has the message for each kind. The subject is the model and its server.
var sentences = map[Kind]string{
	Unauthorized:  "{server} rejected the key: check that it is valid and may use {model}",
	NotFound:      "{server} does not have {model}: check its name",
	NotAPI:        "{server} did not respond like a model API: check the URL, and the proxy if you use one",
	Rejected:      "{server} rejected the request: check that {model} supports it",
	RateLimited:   "{server} is rate-limiting requests to {model}: wait, or raise the limit at the provider",
	Overloaded:    "{subject} failed or is overloaded: try again later",
	TimedOut:      "{subject} did not answer in time: raise the timeout, or use a faster model",
	Unreachable:   "{server} cannot be reached: check the URL, the network, and that the server is running",
	Refused:       "{subject} refused to answer: use another model for requests like this",
	CutShort:      "{subject} sent an incomplete answer: use a model that answers more briefly, or try again",
	InvalidAnswer: "{subject} sent an answer that is not the requested JSON: use a more capable model",
	OverBudget:    "the request to {subject} was not sent, because it exceeds the budget: wait, or raise the budget",
	Canceled:      "the request to {subject} was canceled: send it again if the answer is still needed",
}

// subject returns who answers.
func (e *Error) subject() string {
	switch {
	case e.Model == "" && e.Server == "":
		return "the model"
	case e.Model == "":
		return e.Server
	case e.Server == "":
		return "the model " + redact.Quote(e.Model)
	}
	return "the model " + redact.Quote(e.Model) + " at " + redact.Quote(e.Server)
}

// KindOf returns the kind of an error of Ask, or "" if it has none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// stopped returns the error for a context that is done.
func stopped(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Kind: TimedOut, cause: context.DeadlineExceeded}
	}
	return &Error{Kind: Canceled, cause: context.Canceled}
}
