// Package fault describes what failed, how far the request got and what to do next: one type, one
// catalogue, three outputs.
//
//	fault.go       Fault and Evidence: the facts, without texts
//	delivery.go    how far the request got: the only fact that allows a repetition
//	code.go        the stable names of all failures
//	cause.go       why the server failed, shown instead of the fault's own text
//	advice.go      what the caller may do next, derived from the code and the delivery
//	catalogue.go   one Entry per code; the texts are in entries_*.go
//	model.go       the output for the caller's model
//	terminal.go    the output for the user; explain.go says more about a code
//	machine.go     the output for programs: JSON, tool result, JSON-RPC error
//	mark.go        how gauze's text is distinguished from a server's
//	shown.go       the server's output, safe to show
package fault

import (
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/redact"
)

// Fault is one failure. It contains facts only: the texts are in the catalogue, the layout in the
// outputs.
type Fault struct {
	Code     Code
	Delivery Delivery

	// Safe reports that repeating the call is harmless: its tool only reads, or has the same effect
	// when repeated. Requests of the protocol itself (lists, reads, initialize) do not need it.
	Safe bool

	Server string // name or masked command line, as shown to users
	Name   string // short name, as shown to models and programs: no arguments, no path of a URL
	Method string
	Tool   string
	Detail string // one plain line about this case
	Cause  Cause  // why the server failed, if known

	At      time.Time // when this fault was created; "now" for every duration that is shown
	Since   time.Time // when the server went down
	NextTry time.Time // when the next start is due, or when a quarantine ends

	State      string // how the server is doing, in one word: a health state, or starting; empty: the fault is not about a server
	Closures   uint64 // connections that ended so far
	Recoveries uint64 // how often the server became healthy again

	Attempts int           // starts tried since it went down
	Waited   time.Duration // how long the caller waited
	Limit    time.Duration // the limit that ended the wait

	// Message is the text for the model where it depends on the call, and Report the same for
	// programs. Both are already clean and redacted.
	Message string
	Report  []byte

	Evidence *Evidence

	// Secrets are values that no output may show, in any encoding: patterns cannot recognize a
	// plain password.
	Secrets redact.Secrets
}

// Evidence is what was recorded about a server that failed. Stderr and Stdout are untrusted text.
type Evidence struct {
	Exit   string        // "exit status 1", "signal: killed", ""
	Ran    time.Duration // from start to exit
	Stderr []string      // its last lines on stderr, oldest first
	Stdout []string      // lines on stdout that were not messages, oldest first
}

// Error returns one plain line, for logs and error chains. Use Terminal for users and Model for
// models.
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

// RPCCode returns the JSON-RPC error code, which never changes for a Code. Gauze's own are outside
// -32768..-32000, which JSON-RPC reserves ("The error codes from and including -32768 to -32000 are
// reserved for pre-defined errors").
func (f *Fault) RPCCode() int { return f.entry().RPC }

// entry returns the entry of the code, or unlisted.
func (f *Fault) entry() Entry {
	if e, ok := byCode[f.Code]; ok {
		return e
	}
	return unlisted
}
