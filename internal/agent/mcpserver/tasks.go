package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// In 2025-11-25 the client decides: tools/call with a task is answered with a CreateTaskResult, and the
// call goes on. In 2026-07-28 the tool decides: its result is the id of a task, and the client receives
// that task in place of the result. A client of a different version, and a client that does not ask for
// tasks, sees no difference.
//
// The time to live is always unlimited (null): the backend keeps its tasks. Calls that began none, because
// they were declined or rejected, are known until the connection ends.

// extension is the name of tasks in 2026-07-28.
const extension = "io.modelcontextprotocol/tasks"

// legacyTasks reports whether a client has the tasks of 2025-11-25.
func (c *conn) legacyTasks(of *peer) bool {
	return c.server.Tasks != nil && of != nil && of.version == wire.NewestLegacy
}

// declaresTasks reports whether a client has the tasks of 2026-07-28.
func (c *peer) declaresTasks() bool { _, ok := c.able.Extensions[extension]; return ok }

// hasTask reports whether a call is to be a task. Clients that encode every member send null for none.
func (r request) hasTask() bool { return r.params.Task != nil && string(r.params.Task) != "null" }

// taskID returns the taskId of a request.
func (r request) taskID() (string, error) {
	id, _ := r.params.TaskID.(string)
	if id == "" {
		return "", invalid("invalid taskId: must be a string")
	}
	return id, nil
}

// find returns a task of this connection or of the backend.
func (c *conn) find(id string) (Task, error) {
	c.mu.Lock()
	known := c.known[id]
	c.mu.Unlock()
	if known != nil {
		return c.state(known), nil
	}
	found, err := c.server.Tasks.Find(c.ctx, id)
	if err != nil {
		return found, invalid("%s", err.Error())
	}
	found.ID = id
	return found, nil
}

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

// relatedTo returns the _meta of messages that belong to a task.
func relatedTo(id string) object { return object{wire.MetaRelatedTask: object{"taskId": id}} }

// addRelated adds the id of its task to a result.
func addRelated(result json.RawMessage, id string) json.RawMessage {
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber() // a float64 would round
	if decoder.Decode(&members) != nil || members == nil {
		return result
	}
	members["_meta"] = relatedTo(id)
	out, _ := json.Marshal(members) // it was decoded from JSON
	return out
}
