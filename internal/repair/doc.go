// Package repair makes the arguments of a tool call fit the tool's input schema without changing
// what they mean, or explains why they do not fit. It does no I/O.
//
// A Gate (gate.go) decides about calls and words what is added to their responses. Schema.Arguments
// (arguments.go) checks the arguments of one call: decode, validate, repair only what the validator
// reports, validate again, and accept the result only if no value was lost or invented.
// Schema.Propose (closed.go) compares arguments that a model proposed with those that were sent.
package repair
