// Package repair makes the arguments of a tool call fit the tool's own schema
// without changing what they mean, or says exactly why they do not. It is
// pure: bytes in, an Outcome out, nothing read, nothing kept but compiled
// schemas.
//
// The story of one call is Schema.Arguments in arguments.go: decode, validate,
// mend only what the validator complained about, validate again, and accept
// the result only if no value was lost or invented on the way.
package repair
