package kernel

import "strings"

// Class says what sending a request twice may do.
type Class int

const (
	Reads      Class = iota // S0: protocol reads, and what is idempotent by nature
	ReadOnly                // S1: a tool that declares readOnlyHint
	Idempotent              // S2: a tool that declares idempotentHint
	Unsafe                  // S3: every other tool, and every method we do not know
	Start                   // initialize: part of starting the server
	Stream                  // S6: subscriptions/listen, always opened again
)

func (c Class) String() string {
	return [...]string{"read", "read-only", "idempotent", "unsafe", "start", "stream"}[c]
}

// classOf returns the class of a method other than tools/call.
func classOf(method string) Class {
	switch method {
	case "initialize":
		return Start
	case "subscriptions/listen":
		return Stream
	case "ping", "server/discover", "resources/read", "prompts/get", "completion/complete",
		"tasks/get", "tasks/result", "tasks/cancel",
		"logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return Reads
	}
	if strings.HasSuffix(method, "/list") {
		return Reads
	}
	return Unsafe
}

// Reads reports whether the request cannot change anything.
func (c Class) Reads() bool { return c == Reads || c == ReadOnly }

// writes reports whether the request may change something.
func (c Class) writes() bool { return c == Unsafe || c == Idempotent }
