package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
)

// Record is one event of the timeline, as it is stored. It never has results of calls, and of their
// arguments only those that gauze changed, if the user asked for it.
type Record struct {
	Seq        int           `json:"seq"` // increases by 1 with each event in the journal
	Time       time.Time     `json:"time"`
	Kind       event.Kind    `json:"kind"`
	Server     string        `json:"server,omitempty"`
	Gauze      int           `json:"gauze"` // the process that recorded the event
	Generation int           `json:"generation,omitempty"`
	PID        int           `json:"pid,omitempty"` // the server's process
	Method     string        `json:"method,omitempty"`
	Tool       string        `json:"tool,omitempty"`
	From       string        `json:"from,omitempty"`
	To         string        `json:"to,omitempty"`
	Code       fault.Code    `json:"code,omitempty"`
	Cause      *Cause        `json:"cause,omitempty"`
	Reason     string        `json:"reason,omitempty"` // why a connection ended, from a small set of words
	Detail     string        `json:"detail,omitempty"`
	Output     []string      `json:"output,omitempty"` // what the server printed before it failed; recorded only with values
	Took       time.Duration `json:"took_ns,omitempty"`
	Count      int           `json:"count,omitempty"`
	Task       string        `json:"task,omitempty"` // the id of the task that used the server
	Model      *Question     `json:"model,omitempty"`

	Client  string         `json:"client,omitempty"`
	Call    string         `json:"call,omitempty"` // identifies the call among all events
	Changes []event.Change `json:"changes,omitempty"`
	Told    string         `json:"told,omitempty"` // recorded only with values, because it quotes arguments
	Without time.Duration  `json:"without_ns,omitempty"`
}

// Question is a question to a model and what it cost. The arguments that the model saw and sent are
// not stored.
type Question struct {
	Model        string  `json:"name"`
	InputTokens  int     `json:"input_tokens,omitempty"`
	OutputTokens int     `json:"output_tokens,omitempty"`
	Cost         float64 `json:"cost_usd,omitempty"`
	Reason       string  `json:"reason,omitempty"`
}

// Cause is why a server failed.
type Cause struct {
	Code        string   `json:"code"`
	Explanation string   `json:"explanation,omitempty"`
	Remedy      string   `json:"remedy,omitempty"`
	Changes     []string `json:"changes,omitempty"`
}

// recordOf returns an event as it is stored: cleaned, redacted, and without what a call carried or the
// server printed, which may repeat it. If values is set, it has the values that gauze changed, the text
// that quotes them, and what the server printed.
func recordOf(e event.Event, gauze int, values bool) Record {
	e = e.Quoted()
	r := Record{Time: e.Time, Kind: e.Kind, Server: e.Server, Gauze: gauze, Generation: e.Generation, PID: e.PID, Method: e.Method,
		Tool: e.Tool, From: e.From, To: e.To, Code: e.Code, Reason: e.Reason, Detail: e.Detail,
		Took: e.Took, Count: e.Count, Task: e.Task}
	if e.Cause.Known() {
		cause := Cause(e.Cause)
		r.Cause = &cause
	}
	r.Client, r.Without = e.Client, e.Without
	if e.Call != 0 {
		r.Call = e.Call.String()
	}
	for _, c := range e.Changes {
		if !values {
			c.Before, c.After = "", ""
		}
		r.Changes = append(r.Changes, c)
	}
	if values {
		r.Told, r.Output = e.Told, e.Output
	} else if e.Kind == event.Stray {
		r.Detail = ""
	}
	if m := e.Model; m != nil {
		r.Model = &Question{m.Model, m.InputTokens, m.OutputTokens, m.Cost, m.Reason}
	}
	return r
}

// Event returns r as the event that was recorded.
func (r Record) Event() event.Event {
	e := event.Event{Seq: uint64(r.Seq), Time: r.Time, Kind: r.Kind, Server: r.Server, Generation: r.Generation, PID: r.PID,
		Method: r.Method, Tool: r.Tool, From: r.From, To: r.To, Code: r.Code, Reason: r.Reason, Detail: r.Detail, Output: r.Output, Took: r.Took,
		Count: r.Count, Task: r.Task, Client: r.Client, Told: r.Told, Without: r.Without, Changes: r.Changes}
	if id, err := strconv.ParseUint(r.Call, 36, 64); err == nil {
		e.Call = event.CallID(id)
	}
	if r.Cause != nil {
		e.Cause = fault.Cause(*r.Cause)
	}
	if m := r.Model; m != nil {
		e.Model = &event.Consultation{Model: m.Model, InputTokens: m.InputTokens, OutputTokens: m.OutputTokens, Cost: m.Cost, Reason: m.Reason}
	}
	return e
}

// Unrecorded is a record of the journal's own: Count events before it could not be written.
const Unrecorded event.Kind = "unrecorded"

// healed chooses the events in which gauze made something work, those that timeline.Sum counts.
const healed = string("kind IN ('" + event.Restored + "', '" + event.Repaired + "', '" + event.Corrected + "', '" +
	event.Saved + "', '" + event.Healed + "', '" + event.LoginRenewed + "')")

// row is a row of the table of events.
type row struct {
	seq                int
	time               int64
	kind, server, tool string
	event, sum         []byte
}

const selectEvents = "SELECT seq, time, kind, server, tool, event, sum FROM events"

func scanEvent(rows *sql.Rows) (r row, err error) {
	err = scan(rows, &r.seq, &r.time, &r.kind, &r.server, &r.tool, &r.event, &r.sum)
	return r, err
}

func (r *row) checksum() []byte {
	h := sha256.New()
	for _, number := range []uint64{uint64(r.seq), uint64(r.time)} {
		h.Write(binary.BigEndian.AppendUint64(nil, number))
	}
	for _, text := range []string{r.kind, r.server, r.tool, string(r.event)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	return h.Sum(nil)[:16]
}

func (r *row) intact() bool { return string(r.sum) == string(r.checksum()) }

// eventSize is size in the database. Columns of small and constant size do not matter.
const eventSize = "length(kind) + length(CAST(server AS BLOB)) + length(CAST(tool AS BLOB)) + length(event)"

func (r *row) size() int { return len(r.kind) + len(r.server) + len(r.tool) + len(r.event) }

const insertEvent = "INSERT INTO events (seq, time, kind, server, tool, event, sum) VALUES (?, ?, ?, ?, ?, ?, ?)"

// insert runs insertEvent.
func (r *row) insert(prepared *sql.Stmt) error {
	_, err := prepared.Exec(r.seq, r.time, r.kind, r.server, r.tool, r.event, r.checksum())
	return err
}

// Query chooses events. Fields that are zero choose all.
type Query struct {
	After   int      // only events with a higher Seq
	Servers []string // names of which one must match
	Tool    string
	Since   time.Time
	Kind    event.Kind
	Healed  bool // only events in which gauze made something work
	Limit   int  // only so many of the newest
}

// Events returns the events, newest last. Damaged ones are left out, and the error is ErrDamaged.
func (j *Journal) Events(ctx context.Context, q Query) ([]Record, error) {
	text, args := q.sql()
	var records []Record
	var damaged error
	err := query(ctx, j.db, func(rows *sql.Rows) error {
		r, err := scanEvent(rows)
		if err == nil && !r.intact() {
			damaged = ErrDamaged
			return nil
		}
		var record Record
		if err == nil && json.Unmarshal(r.event, &record) == nil {
			record.Seq = r.seq
			records = append(records, record)
		}
		return err
	}, text, args...)
	slices.Reverse(records)
	return records, failure(j.path, cmp.Or(err, damaged))
}

// sql returns the query, newest first.
func (q Query) sql() (text string, args []any) {
	text, args = selectEvents+" WHERE seq > ?", []any{q.After}
	where := func(chosen bool, condition string, values ...any) {
		if chosen {
			text, args = text+" AND "+condition, append(args, values...)
		}
	}
	names, _ := json.Marshal(q.Servers) // of strings: cannot fail
	where(len(q.Servers) > 0, "server IN (SELECT value FROM json_each(?))", string(names))
	where(q.Tool != "", "tool = ?", q.Tool)
	where(q.Kind != "", "kind = ?", string(q.Kind))
	where(!q.Since.IsZero(), "time >= ?", nanos(q.Since))
	where(q.Healed, healed)
	text += " ORDER BY seq DESC"
	if q.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	return text, args
}

// nanos returns t as it is stored. Times that an int64 cannot hold become the first or last one.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// Servers returns the names of the servers that have events.
func (j *Journal) Servers(ctx context.Context) (names []string, err error) {
	err = query(ctx, j.db, func(rows *sql.Rows) error {
		names = append(names, "")
		return scan(rows, &names[len(names)-1])
	}, `WITH RECURSIVE names(name) AS (SELECT min(server) FROM events WHERE server > ''
			UNION ALL SELECT (SELECT min(server) FROM events WHERE server > name) FROM names WHERE name IS NOT NULL)
		SELECT name FROM names WHERE name IS NOT NULL ORDER BY name`) // skips the events in between
	return names, failure(j.path, err)
}
