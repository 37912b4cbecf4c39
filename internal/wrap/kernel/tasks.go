package kernel

import (
	"encoding/json"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// openTasks are the tasks of the protocol that the server has begun and not ended, as far as the client was told, by their
// raw ids: until when the server keeps each; zero: it did not say.
type openTasks map[string]time.Time

// any reports whether a task is open.
func (t openTasks) any(now time.Time) bool {
	for id, until := range t {
		if !until.IsZero() && now.After(until) {
			delete(t, id)
		}
	}
	return len(t) > 0
}

// noteTask notes what the answer to a call says about a task. Only where servers are stopped that nothing uses does
// that matter.
func (z *sleep) noteTask(c *Call, m *wire.Message) {
	switch method := c.msg.Method; {
	case z.idle <= 0:
	case c.task:
		task, _ := wire.Field(m.Result, "task")
		z.noteStatus(task)
	case c.modern && c.tool != "":
		if kind, _ := wire.Field(m.Result, "resultType"); string(kind) == `"task"` {
			z.noteStatus(m.Result)
		}
	case method == "tasks/get" || method == "tasks/cancel":
		z.noteStatus(m.Result)
	case method == "tasks/result":
		id, _ := wire.Field(c.msg.Params, "taskId")
		delete(z.tasks, string(id))
	}
}

// noteStatus notes the status of a task, which is an object with its taskId.
func (z *sleep) noteStatus(task []byte) {
	var values [4][]byte
	if z.idle <= 0 || wire.Fields(task, values[:], "taskId", "status", "ttl", "ttlMs") != nil || values[0] == nil {
		return
	}
	id := string(values[0])
	z.used = time.Now()
	if status, _ := wire.Text(values[1]); status == "completed" || status == "failed" || status == "cancelled" {
		delete(z.tasks, id)
		return
	}
	if _, known := z.tasks[id]; known || len(z.tasks) >= maxTasks {
		return
	}
	if z.tasks == nil {
		z.tasks = openTasks{}
	}
	z.tasks[id] = endOfTask(firstOf(values[2], values[3]))
}

// endOfTask returns until when a task is kept, given the milliseconds for which it is; zero: no end.
func endOfTask(raw []byte) (until time.Time) {
	var ms float64
	if json.Unmarshal(raw, &ms) == nil && ms > 0 {
		until = time.Now().Add(time.Duration(min(ms, maxTaskTime) * float64(time.Millisecond)))
	}
	return until
}

// maxTaskTime limits the time for which a task is kept, in milliseconds: a hundred years.
const maxTaskTime = 100 * 365 * 24 * 3600 * 1000

// forget forgets the tasks of a process that has ended. What a server at a URL keeps does not end with the
// connection.
func (z *sleep) forget(conn *upstream.Conn) {
	if !conn.Remote() {
		clear(z.tasks)
	}
}
