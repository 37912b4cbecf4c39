// Package fault says what broke, how far the request got and what to do next: one type, one catalogue, three voices.
//
//	fault.go       Fault and Evidence: the facts, no words
//	delivery.go    how far the request got: the only fact that licenses a repetition
//	code.go        the stable names of everything that breaks
//	cause.go       why the server failed: what a voice says instead of the fault's own words
//	advice.go      what the caller may do next, derived from the code and the delivery
//	catalogue.go   one Entry per code; the words live in entries_*.go
//	nearest.go     the codes a mistyped one may have meant
//	model.go       the voice for the caller's model
//	terminal.go    the voice for people; explain.go says more about a code
//	machine.go     the voice for programs: JSON, tool result, JSON-RPC error
//	mark.go        how our words are told from a server's
//	shown.go       what the server wrote, fit to be shown
package fault

import (
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/redact"
)

// Fault is one thing that broke. It holds facts only: the words are in the catalogue, the layout in the voices.
type Fault struct {
	Code     Code
	Delivery Delivery

	// Safe says that repeating the call can do no harm: its tool only reads, or does the same when done twice. The zero
	// value is the careful one. Requests of the protocol itself (lists, reads, initialize) are known without it.
	Safe bool

	Server string // name or masked command line, as shown to people
	Name   string // short name, as shown to models and programs: no arguments, no path of a URL
	Method string
	Tool   string
	Detail string // one plain line about this very case
	Cause  Cause  // why the server failed, if that is known

	At      time.Time // when this fault was made; "now" for every duration that is shown
	Since   time.Time // when the server went down
	NextTry time.Time // when the next start is due, or when a quarantine ends

	Attempts int           // starts tried since it went down
	Waited   time.Duration // how long the caller waited
	Limit    time.Duration // the limit that ended the wait

	// Message are the words for the model where each case needs its own, and Report the same for programs: how a call has
	// to be changed depends on the call. Both are clean and redacted already.
	Message string
	Report  []byte

	Evidence *Evidence

	// Secrets are values that no voice may show, in any encoding: the patterns of Redact cannot know a plain password.
	Secrets redact.Secrets
}

// Evidence is what we saw of a server that failed. All of Stderr and Stdout is foreign text.
type Evidence struct {
	Exit   string        // "exit status 1", "signal: killed", ""
	Ran    time.Duration // from start to exit
	Stderr []string      // its last lines on stderr, oldest first
	Stdout []string      // lines on stdout that were not messages, oldest first
}

// Error is one plain line: for logs and for errors.As chains, not for people (Terminal) nor for models (Model).
func (f *Fault) Error() string {
	e := f.entry()
	var b strings.Builder
	b.WriteString(LogMark + " ")
	b.WriteString(string(f.Code))
	b.WriteString(": ")
	if s := f.foreign(f.Server); s != "" {
		b.WriteString(s)
		b.WriteString(": ")
	}
	if c := f.cause(); c.Known() {
		b.WriteString(c.Explanation + " " + c.Remedy)
		return b.String()
	}
	b.WriteString(e.Title)
	if d := f.detail(); d != "" {
		b.WriteString(": ")
		b.WriteString(d)
	}
	return b.String()
}

// RPCCode is the JSON-RPC error code, the same for ever for one Code. Ours are outside -32768..-32000, which JSON-RPC
// reserves ("The error codes from and including -32768 to -32000 are reserved for pre-defined errors").
func (f *Fault) RPCCode() int { return f.entry().RPC }

// entry never fails: a code without an entry still has to be told to somebody.
func (f *Fault) entry() Entry {
	if e, ok := byCode[f.Code]; ok {
		return e
	}
	return unlisted
}
