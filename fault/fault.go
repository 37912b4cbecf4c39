// Package fault describes what failed, how far the request got and what to do next: one type, one
// catalogue, three outputs. A fault is a failure that gauze reports in place of a server's response:
//
//	result, err := session.CallTool(ctx, params)
//	if f := gauze.FaultOf(result); f != nil && f.Advice() == fault.VerifyFirst {
//		// The call may have taken effect. Check before repeating it.
//	}
//
// [Fault.Model] is the text for a model, [Fault.Terminal] the one for a person, and [Fault.JSON] the
// one for programs, which [Parse] reads. [Lookup] explains a code.
package fault

// The files of this package:
//
//	fault.go       Fault and Evidence: the facts, without texts
//	delivery.go    how far the request got: the only fact that allows a repetition
//	code.go        the stable names of all failures
//	cause.go       why the server failed, shown instead of the fault's own text
//	advice.go      what the caller may do next, derived from the code and the delivery
//	catalogue.go   one Entry per code; the texts are in entries_*.go
//	model.go       the output for the caller's model
//	terminal.go    the output for the user; explain.go says more about a code
//	machine.go     the output for programs: JSON, tool result, JSON-RPC error; Parse reads the JSON
//	mark.go        how gauze's text is distinguished from a server's
//	shown.go       the server's output, safe to show

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// Fault is a failure that gauze reports in place of the server's response. It contains facts only:
// the texts are in the catalogue, the layout in the outputs. gauze.FaultOf finds it in a result or an
// error of a client session.
type Fault struct {
	Code     Code     // what failed
	Delivery Delivery // how far the request got

	// Safe reports that repeating the call is harmless: its tool only reads, or has the same effect
	// when repeated. In a fault that was parsed it is true for every request that cannot have a
	// second effect.
	Safe bool

	Server string // name or masked command line, as shown to users
	Name   string // short name, as shown to models and programs: no arguments, no path of a URL
	Method string // MCP method of the request
	Tool   string // name of the tool that was called
	Detail string // one plain line about this case
	Status int    // HTTP status of a response that was not an MCP message; 0 if there was none
	Cause  Cause  // why the server failed, if known

	At      time.Time // when this fault was created; "now" for every duration that is shown
	Since   time.Time // when the server was lost
	NextTry time.Time // when the server is started next, or a quarantine ends

	State      string // how the server is doing, in one word: a health.State, or starting; empty: the fault is not about a server
	Closures   uint64 // connections that ended so far
	Recoveries uint64 // how often the server became healthy again

	Attempts int           // starts since the server was lost
	Waited   time.Duration // how long the request waited
	Limit    time.Duration // the limit that the request exceeded

	Message string          // text for the model where it depends on the call, clean and redacted
	Report  json.RawMessage // same for programs: why a call was rejected because of its arguments

	Evidence *Evidence // last output of a server that exited; nil if there is none

	hide   func(string) string // see Hide
	title  string              // as it was parsed: the catalogue of a newer gauze may have more codes
	advice Advice              // as it was parsed
}

// Evidence is what was recorded about a server that exited. Stderr and Stdout are untrusted text.
type Evidence struct {
	Exit   string        // how the process ended, such as "exit status 1"; empty if that is not known
	Ran    time.Duration // from start to exit
	Stderr []string      // its last lines on stderr, oldest first
	Stdout []string      // lines on stdout that were not messages, oldest first
}

// Hide sets what removes values that no output may show, in any encoding: patterns cannot recognize a
// plain password. It returns f.
func (f *Fault) Hide(redact func(string) string) *Fault {
	f.hide = redact
	return f
}

// Title describes the code in a few words.
func (f *Fault) Title() string { return cmp.Or(f.title, f.entry().Title) }

// Error returns one plain line, for logs and error chains. Use Terminal for users and Model for
// models.
func (f *Fault) Error() string {
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
	b.WriteString(f.Title())
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
