package task

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
)

// Servers are the servers of a task. Methods may be called by one goroutine at a time.
type Servers interface {
	// Tools returns what a server lists now. The server is started if it does not run. If it cannot
	// be asked, lost says why.
	Tools(ctx context.Context, server string) (tools []Tool, lost *Reply)
	// Call calls a tool. It returns when ctx is done.
	Call(ctx context.Context, server, tool string, arguments json.RawMessage) Reply
	// Situation returns what is known about the server, without the task.
	Situation(server string) Situation
	// Reconnect asks for an attempt to reach the server, and returns when the server is connected,
	// when the attempt failed, or when ctx is done.
	Reconnect(ctx context.Context, server string)
}

// Situation is what is known about a server.
type Situation struct {
	verdict.Situation
	Since  time.Time // when the server went down
	Detail string    // what happened, one line
	Remedy string    // what the user can do about the cause
	Silent bool      // all that it left unanswered are probes between calls: it may be at work
}

// Tool is a tool of a server.
type Tool struct {
	Name   string
	About  string
	Schema json.RawMessage
	Class  Class
	Shape  string // changes with the schema and the annotations
	// Accepts returns why the schema rejects arguments, or nil.
	Accepts func(arguments json.RawMessage) error
}

// Reply is how a call ended.
type Reply struct {
	Status   Status
	Text     string // of the result, or the error
	Report   string // what happened, for a person; only for gauze's own faults, whose Text is for a model
	JSON     json.RawMessage
	Delivery Delivery // of a lost call
	Fault    string   // code of gauze's fault
	Cause    string   // code of the doctor's cause
	Remedy   string
	Asked    bool     // the server asked the user something during a call that failed
	Healed   []string // what gauze repaired
}

// told returns what a person reads about it if it is an error.
func (r *Reply) told() string { return cmp.Or(r.Report, r.Text) }

// Log keeps the entries of tasks. Append returns when they are durable; after is the Seq of the last
// known entry, and an entry by someone else is an error.
type Log interface {
	Append(ctx context.Context, task string, after int, entries ...Entry) (last int, err error)
	Entries(ctx context.Context, task string) ([]Entry, error)
}
