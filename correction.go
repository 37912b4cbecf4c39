package gauze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/llm"
)

// CorrectionPolicy is which failed calls a model may correct, and what happens to a corrected call.
// A field that is not set has its default; in the policy of a tool, the value of the policy that
// applies to all tools. The zero value corrects calls if there is a model.
type CorrectionPolicy struct {
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

// GoalKey is the key in the _meta of a tool call under which a client may say, as a string, what the
// call is for. A model that corrects the call reads it. The server receives it as well, as it
// receives all of _meta; gauze puts none of its text into the arguments of a call that it sends.
const GoalKey = "io.github.gauze-mcp/goal"

// WithGoal returns a context for [Execute] that says what its calls are for. Only the model that
// corrects a call reads it.
func WithGoal(ctx context.Context, goal string) context.Context {
	return context.WithValue(ctx, goalKey{}, goal)
}

type goalKey struct{}

func goalOf(ctx context.Context) string {
	goal, _ := ctx.Value(goalKey{}).(string)
	return goal
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

// check returns an error that says which field has an unusable value. name is where the policy is,
// such as Options.Correct.
func (p CorrectionPolicy) check(name string) error {
	if _, err := p.internal(); err != nil {
		return fmt.Errorf("gauze: %s: %w", name, err)
	}
	return nil
}

// model returns the model to ask, which is nil if there is none.
func (p CorrectionPolicy) model(otherwise llm.Model) llm.Model {
	if p.Model != nil {
		return p.Model
	}
	return otherwise
}

// CorrectionError is the error of a call that failed and that a model corrected. Either the corrected
// call was sent and failed, or it was not sent and is in Offered. [errors.Is] and [errors.As] find
// both First and Second.
type CorrectionError struct {
	Tool    string          // Tool is the name of the tool.
	First   error           // First is the error of the call as it came.
	Second  error           // Second is the error of the corrected call, or nil if it was not sent.
	Offered json.RawMessage // Offered is the corrected arguments, with the caller's secrets, if they were not sent.
	Changes []Change        // Changes lists what the model changed, secrets masked.
	Model   string          // Model is the name of the model.
	Reason  string          // Reason is the model's, and untrusted text.

	text string
}

// Error implements error. The text contains no secrets that First and Second do not contain.
func (e *CorrectionError) Error() string { return e.text }

// Unwrap returns the errors of both calls.
func (e *CorrectionError) Unwrap() []error {
	if e.Second == nil {
		return []error{e.First}
	}
	return []error{e.First, e.Second}
}

// ArgumentError marks an error of a tool: its arguments were rejected before it had any effect. An
// [Executor] or a [Middleware] may therefore correct the call and run it again, even if the tool writes.
// [errors.Is] and [errors.As] find err. ArgumentError returns nil if err is nil.
//
//	if in.Days < 1 {
//		return nil, gauze.ArgumentError(fmt.Errorf("days must be 1 or more, not %d", in.Days))
//	}
func ArgumentError(err error) error {
	if err == nil {
		return nil
	}
	return &argumentError{err}
}

// argumentError is an error that ArgumentError marked.
type argumentError struct{ error }

func (e *argumentError) Unwrap() error { return e.error }

// isArgumentError reports whether an error was marked by ArgumentError. Of a call that was corrected and
// failed again, the second error counts: the first one says nothing about what the second call did.
func isArgumentError(err error) bool {
	var marked *argumentError
	var corrected *CorrectionError
	if errors.As(err, &corrected) && corrected.Second != nil {
		return isArgumentError(corrected.Second)
	}
	return errors.As(err, &marked)
}
