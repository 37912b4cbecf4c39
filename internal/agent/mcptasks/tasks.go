// Package mcptasks adds the tasks of MCP to a server of the Go SDK, which does not support them. A
// Transport handles the methods of tasks and passes on everything else.
//
//	tasks.go   a task, and what keeps tasks
//	conn.go    the messages between the client and the SDK
//	call.go    calls that the client made as tasks, until they end (2025-11-25)
//	legacy.go  tasks/get, result, list and cancel of 2025-11-25
//	modern.go  the extension of 2026-07-28
//	edit.go    members added to what the SDK writes
//
// In 2025-11-25 the client decides: tools/call with a task is answered with a CreateTaskResult, and
// the SDK runs the call under an id of our own. In 2026-07-28 the tool decides: it returns the id of
// a task (Defer), and the client receives that task in place of the result. A client of a different
// version, and a client that does not ask for tasks, sees no difference.
//
// The time to live is always unlimited (null): the backend keeps its tasks. Calls that began none, because
// they were declined or rejected, are known until the connection ends.
package mcptasks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Status is the status of a task in the protocol.
type Status string

// The values of Status.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

func (s Status) terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Task is the state of a task.
type Task struct {
	ID      string
	Status  Status
	Message string // one line
	Created time.Time
	Updated time.Time
}

// Backend keeps tasks. Its tasks are known in every process; those of calls that did not begin one are
// known only to the connection.
type Backend interface {
	// Supports reports whether calls of the tool can be tasks.
	Supports(tool string) bool
	// NewID returns an id for the task that a call would begin.
	NewID(ctx context.Context, tool string, arguments json.RawMessage) string
	// Find returns a task, which may have a second id. Its error says that the id is unknown, or why the task cannot be read.
	Find(ctx context.Context, id string) (Task, error)
	// Result returns the result of the call for a task, a CallToolResult.
	Result(ctx context.Context, id string) (json.RawMessage, error)
	// Wait waits until a task has ended.
	Wait(ctx context.Context, id string) error
	// Stop stops a task that this process began with this id, and reports whether there was one.
	Stop(ctx context.Context, id string) (bool, error)
	// List returns a page of tasks. It fails if the cursor is unknown.
	List(ctx context.Context, cursor string) (page []Task, next string, err error)
	// Outcome returns the status of a call with this result, which is not an error, and why.
	Outcome(result json.RawMessage) (Status, string)
}

// pollInterval is how often a client is asked to poll.
const pollInterval = time.Second

// legacyTask is a task in 2025-11-25. The time to live is unlimited: the journal keeps tasks.
type legacyTask struct {
	ID      string    `json:"taskId"`
	Status  Status    `json:"status"`
	Message string    `json:"statusMessage,omitempty"`
	Created time.Time `json:"createdAt"`
	Updated time.Time `json:"lastUpdatedAt"`
	TTL     *int      `json:"ttl"`
	Poll    int64     `json:"pollInterval"`
}

func (t Task) legacy() legacyTask {
	return legacyTask{ID: t.ID, Status: t.Status, Message: t.Message, Created: stamp(t.Created), Updated: stamp(t.Updated), Poll: pollInterval.Milliseconds()}
}

// modernTask is a task in 2026-07-28, with its result or error once it has ended.
type modernTask struct {
	Type    string          `json:"resultType"`
	ID      string          `json:"taskId"`
	Status  Status          `json:"status"`
	Message string          `json:"statusMessage,omitempty"`
	Created time.Time       `json:"createdAt"`
	Updated time.Time       `json:"lastUpdatedAt"`
	TTL     *int            `json:"ttlMs"`
	Poll    int64           `json:"pollIntervalMs"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

func (t Task) modern(resultType string) modernTask {
	return modernTask{Type: resultType, ID: t.ID, Status: t.Status, Message: t.Message, Created: stamp(t.Created), Updated: stamp(t.Updated), Poll: pollInterval.Milliseconds()}
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// RelatedTask is the key in _meta of messages that belong to a task.
const RelatedTask = wire.MetaRelatedTask

// Related returns the _meta of messages that belong to a task, or nil if id is empty.
func Related(id string) mcp.Meta {
	if id == "" {
		return nil
	}
	return mcp.Meta{RelatedTask: map[string]any{"taskId": id}}
}

// relatedTo returns the id of the task that a message belongs to, or "".
func relatedTo(message json.RawMessage) string {
	var m struct {
		Meta struct {
			Related struct {
				ID string `json:"taskId"`
			} `json:"io.modelcontextprotocol/related-task"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(message, &m) // the SDK encoded it
	return m.Meta.Related.ID
}

// What a Transport tells a tool about a call. A client cannot set these: stdio has no headers.
const (
	headerTask  = "Gauze-Task"
	headerDefer = "Gauze-Defer"
)

// IDOf returns the id of the task that a call is, or "". Such a call returns when its work has ended.
func IDOf(r *mcp.CallToolRequest) string { return header(r, headerTask) }

// MayDefer reports whether the result of a call may be the id of a task.
func MayDefer(r *mcp.CallToolRequest) bool { return header(r, headerDefer) != "" }

func header(r *mcp.CallToolRequest, name string) string {
	if r == nil || r.Extra == nil {
		return ""
	}
	return r.Extra.Header.Get(name)
}

// Defer returns a result in whose place the client receives the task, which must exist.
func Defer(id string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Meta: Related(id), Content: []mcp.Content{}}
}
