package flow

import (
	"encoding/json"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Limits of what a task keeps. Temporal rejects more than 2 MiB in one message, and ends workflows
// with more than 50 MiB of history.
const (
	maxResult    = 512 << 10  // bytes of one result
	maxArguments = 1 << 20    // bytes of the arguments of one call
	maxPlan      = 512 << 10  // bytes of a plan
	maxCarried   = 1200 << 10 // bytes of all entries that a new history begins with
	maxView      = 1200 << 10 // bytes of all entries in the answer to a query
	maxDiagnosis = 4000       // bytes
)

// DefaultHeartbeat is how long a worker may be silent before it is considered dead.
const DefaultHeartbeat = 15 * time.Second

// Timeouts.
const (
	maxCall       = 30 * 24 * time.Hour // the wrap limits calls; this only bounds a mistake
	maxSession    = 365 * 24 * time.Hour
	maxQueued     = 24 * time.Hour   // then the wait for a worker begins again
	reuseTimeout  = 20 * time.Second // for the worker that has the servers already
	closeTimeout  = 30 * time.Second
	reportTimeout = 5 * time.Second // of one attempt to report a result
	healthTimeout = 5 * time.Second // for the Temporal server to say that it is alive
)

// size returns about how many bytes the entries have as JSON.
func size(entries []task.Entry) (n int) {
	for _, e := range entries {
		n += len(e.Data) + 100
	}
	return n
}

func short(text string) string { return plaintext.Cap(text, maxDiagnosis) }

func intentOf(e task.Entry) (i task.Intent, err error) {
	err = json.Unmarshal(e.Data, &i)
	return i, err
}
