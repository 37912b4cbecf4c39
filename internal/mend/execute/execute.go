// Package execute runs a tool call through any function, corrects it if it fails because of its
// arguments, and repeats it if the failure may be over soon. It links neither the MCP SDK nor the
// supervisor: package repair is its public face, and the middleware of package gauze uses it.
//
//	execute.go     marked errors and the goal of a call
//	corrector.go   Corrector, which asks a model
//	failure.go     what a Go error says about the arguments
//	repeat.go      Run: which failures may be over soon, and the second attempt
//	results.go     how results are read and written; package gauze knows those of the MCP SDK
package execute

import (
	"context"
	"errors"
)

// invalidParams is the code of JSON-RPC 2.0 for invalid parameters.
const invalidParams = -32602

// ArgumentError is an error of a tool that rejected its arguments before it had any effect.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the tool.
func (e *ArgumentError) Unwrap() error { return e.Err }

// Both are the errors of a call that failed and that a model corrected.
type Both struct {
	First  error // of the call as it came
	Second error // of the corrected call; nil if it was not sent
}

func (e Both) Error() string { return errors.Join(e.First, e.Second).Error() }

// Unwrap returns the errors of both calls.
func (e Both) Unwrap() []error {
	if e.Second == nil {
		return []error{e.First}
	}
	return []error{e.First, e.Second}
}

// IsArgumentError reports whether an error is an ArgumentError. Of a call that was corrected and failed
// again, the second error counts: the first one says nothing about what the second call did.
func IsArgumentError(err error) bool {
	if both, ok := errors.AsType[Both](err); ok && both.Second != nil {
		return IsArgumentError(both.Second)
	}
	_, marked := errors.AsType[*ArgumentError](err)
	return marked
}

type goalKey struct{}

// WithGoal returns a context that says what its calls are for.
func WithGoal(ctx context.Context, goal string) context.Context {
	return context.WithValue(ctx, goalKey{}, goal)
}

// Goal returns what the calls of a context are for; empty if that is not known.
func Goal(ctx context.Context) string {
	goal, _ := ctx.Value(goalKey{}).(string)
	return goal
}
