package fault

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// Entry describes one code in the catalogue: its texts without any layout.
type Entry struct {
	Code    Code   // of the fault, the cause or the problem
	Kind    Kind   // what it describes
	Follows []Code // causes of which this code is only a consequence; it is not shown next to them

	// Permanent means that the cause lasts until something is changed, so trying again does not help.
	Permanent bool

	RPC   int    // JSON-RPC error code
	Title string // headline: lower case, no full stop
	Retry Advice // before Fault.Advice corrects it by the delivery

	Means string // what it means
	Why   string // why it happens
	Did   string // what Gauze did about it
	Do    []Step // what the user can do, most likely first

	model     string // what happened, for the caller's model
	held      string // the same if the request was not sent; "" if that makes no difference
	refused   string // the same if the server rejected the request; "" if that makes no difference
	failed    string // the same if the server responded with an HTTP status instead, which Detail has; "" if that makes no difference
	heldRetry Advice // the advice if the request was not sent; "" if that makes no difference
	next      string // what to do next, for the model; "" leaves it to the advice
	mute      bool   // not even Detail reaches the model or the JSON, except with failed: no text that may come from the server
	response  bool   // Detail is the server's HTTP response, which is also shown with a cause: the cause is derived from it
	shows     bool   // the model and the JSON get the server's last lines: it exited, and they are the diagnosis
}

// Kind is what an entry of the catalogue describes.
type Kind int

// What an entry describes.
const (
	KindFault  Kind = iota // a request that failed
	KindCause              // why a server does not start or answer
	KindConfig             // a problem in a client's configuration file
)

// String returns the kind in words.
func (k Kind) String() string {
	return [...]string{"fault", "cause", "configuration problem"}[k]
}

// Step is something the user can do: a text, and the exact command if there is one.
type Step struct {
	Text    string // what to do
	Command string // the command to run; empty if there is none

	// spell returns the command where it differs by platform. The step is omitted where it returns
	// "".
	spell func(shell.Words) string
}

// entries is the catalogue in reading order: the server, how it is reached, calls, messages.
var entries = slices.Concat(serverEntries, httpEntries, callEntries, messageEntries, gatewayEntries)

var byCode = func() map[Code]Entry {
	m := make(map[Code]Entry, len(entries))
	for _, e := range entries {
		m[e.Code] = e
	}
	return m
}()

// unlisted is the entry of a code that has none: a bug in gauze that must not cost the caller the
// response.
var unlisted = Entry{
	RPC:   -31000,
	Title: "an unexpected error occurred",
	Retry: TellUser,
	model: "Gauze, which runs between you and the MCP server, reported an unexpected error.",
	mute:  true,
}

// Lookup returns the entry of a code.
func Lookup(code string) (Entry, bool) {
	e, ok := byCode[Code(code)]
	return e.in(shell.Here()), ok
}

// All returns the whole catalogue in reading order.
func All() []Entry { return allIn(shell.Here()) }

// allIn is All with the commands of a given platform.
func allIn(words shell.Words) []Entry {
	all := slices.Clone(entries)
	for i := range all {
		all[i] = all[i].in(words)
	}
	return all
}

// in returns the entry with the commands of a platform.
func (e Entry) in(words shell.Words) Entry {
	var steps []Step
	for _, s := range e.Do {
		if s.spell != nil {
			s.Command, s.spell = s.spell(words), nil
			if s.Command == "" {
				continue
			}
		}
		steps = append(steps, s)
	}
	e.Do = steps
	return e
}
