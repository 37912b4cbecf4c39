package repair

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/execute"
	"github.com/gauze-mcp/gauze/llm"
)

// Policy is which failed calls a model may correct, and what happens to a corrected call.
// A field that is not set has its default; in the policy of a tool, the value of the policy that
// applies to all tools. The zero value corrects calls if there is a model.
type Policy struct {
	// Enabled is whether calls are corrected. Default true.
	Enabled *bool
	// MaxRetries is how many times a corrected call is sent: 1, the default, or 0, so that it is only
	// shown to the caller, and no call is repeated.
	MaxRetries *int
	// UseModel is whether a model is asked. Default true. Calls are repaired by rules in any case.
	UseModel *bool
	// Model is the model to ask. Default: the Model next to the policy.
	Model llm.Model
	// Timeout is how long a question may take, including retries. Default: the model's own limit.
	Timeout time.Duration
	// CorrectableErrors lists the kinds of failures that are corrected. Default: those that are
	// marked below. An empty list that is not nil means none.
	CorrectableErrors []RejectionKind
	// Open is whether a tool that is read-only gets values of the model's own, in arguments that were
	// rejected or missing. Default true. Each is named in the result. A tool that writes never gets
	// them: they are shown to the caller, as they are if Open is false.
	Open *bool
}

// WithGoal returns a context for [Execute] that says what its calls are for. Only the model that
// corrects a call reads it.
func WithGoal(ctx context.Context, goal string) context.Context {
	return execute.WithGoal(ctx, goal)
}

// RejectionKind is why a call failed, as far as something may be done about it. Other kinds, such as a
// missing permission or an unknown error, are passed on.
type RejectionKind string

// Failures that are corrected by default.
const (
	RejectionInvalidArguments RejectionKind = "invalid-arguments" // argument validation failed
	RejectionMissingArgument  RejectionKind = "missing-argument"  // a required argument is missing
	RejectionUnknownArgument  RejectionKind = "unknown-argument"  // the tool has no such argument
	RejectionWrongType        RejectionKind = "wrong-type"        // a value has the wrong type
	RejectionOutOfRange       RejectionKind = "out-of-range"      // a value is too small or too large
	RejectionUnknownChoice    RejectionKind = "unknown-choice"    // a value is not one of the declared ones
	RejectionWrongFormat      RejectionKind = "wrong-format"      // a string is not in the required format
	RejectionMalformed        RejectionKind = "malformed"         // a value could not be parsed
	RejectionInvalidValue     RejectionKind = "invalid-value"     // the tool itself rejected a value
)

// Failures that are corrected only if CorrectableErrors lists them.
const (
	RejectionNotFound RejectionKind = "not-found" // what the call names does not exist
	RejectionConflict RejectionKind = "conflict"  // the state of the server conflicts with the call
	RejectionInternal RejectionKind = "internal"  // the tool failed for a reason of its own
)

// Failures that may be over soon. A call that fails so is not corrected but sent once more as it came,
// after a pause and without a model, if its tool is read-only. CorrectableErrors excludes the kinds that
// it does not list; MaxRetries 0 excludes all.
const (
	RejectionTimeout    RejectionKind = "timeout"    // something that the tool waits for did not reply in time
	RejectionConnection RejectionKind = "connection" // the tool lost a connection, or could not open one
	RejectionModel      RejectionKind = "model"      // a model that the tool uses failed
)

// CorrectionError is the error of a call that failed and that a model corrected. Either the corrected
// call was sent and failed, or it was not sent and is in Offered. [errors.Is] and [errors.As] find
// both First and Second.
type CorrectionError struct {
	Tool    string          // name of the tool
	First   error           // error of the call as it came
	Second  error           // error of the corrected call; nil if it was not sent
	Offered json.RawMessage // corrected arguments, with the caller's secrets, if they were not sent
	Changes []Change        // what the model changed, secrets masked
	Model   string          // name of the model
	Reason  string          // the model's own, and untrusted text

	text string
}

// Error implements error. The text contains no secrets that First and Second do not contain.
func (e *CorrectionError) Error() string { return e.text }

// Unwrap returns the errors of both calls.
func (e *CorrectionError) Unwrap() error { return execute.Both{First: e.First, Second: e.Second} }

// ArgumentError marks an error of a tool: its arguments were rejected before it had any effect. An
// [Executor] or a gauze.Middleware may therefore correct the call and run it again, even if the tool writes.
// [errors.Is] and [errors.As] find err. ArgumentError returns nil if err is nil.
//
//	if in.Days < 1 {
//		return nil, repair.ArgumentError(fmt.Errorf("days must be 1 or more, not %d", in.Days))
//	}
func ArgumentError(err error) error {
	if err == nil {
		return nil
	}
	return &execute.ArgumentError{Err: err}
}
