package task

import (
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one entry of a task's log. Seq counts from 1.
type Entry struct {
	Seq  int             `json:"seq"`
	Time time.Time       `json:"time"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// The kinds of entries. Each has a struct below. Fields are only ever added, because logs are read
// by later versions.
const (
	KindStarted = "started"
	KindTools   = "tools"
	KindIntent  = "intent"
	KindOutcome = "outcome"
	KindVerdict = "verdict"
	KindChosen  = "chosen"
	KindStopped = "stopped"
	KindDecided = "decided"
	KindResumed = "resumed"
	KindDone    = "done"

	KindReplanned = "replanned"
)

// Version is the version of the entries. A log with a higher one is not read.
const Version = 1

// Started is the first entry.
type Started struct {
	Version int  `json:"version"`
	Plan    Plan `json:"plan"`
	PID     int  `json:"pid,omitempty"` // of the process that runs it
}

// ToolsSeen is what a server lists: the shape of each tool, which changes with its schema and
// annotations.
type ToolsSeen struct {
	Server string            `json:"server"`
	Tools  map[string]string `json:"tools"`
}

// Intent is a call that is about to be sent.
type Intent struct {
	Call      int             `json:"call"`             // counts the calls of the task from 1
	Step      string          `json:"step,omitempty"`   // empty if a model chose the call
	Item      int             `json:"item,omitempty"`   // of the step's loop, from 0
	Choice    int             `json:"choice,omitempty"` // of the model, from 1
	Attempt   int             `json:"attempt"`          // from 1
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Class     Class           `json:"class,omitempty"` // at the time of the call
	Shape     string          `json:"shape,omitempty"` // of the tool at that time
}

// Class is what sending a call twice may do.
type Class string

const (
	ReadOnly   Class = "read-only"
	Idempotent Class = "idempotent"
	Unsafe     Class = "unsafe" // also every tool that is not known
)

// Status is how a call ended.
type Status string

const (
	OK     Status = "ok"     // the server answered
	Failed Status = "failed" // the server answered that the call failed
	Lost   Status = "lost"   // the server did not answer usably; Delivery says how far the call got
)

// Delivery is how far a lost call got.
type Delivery string

const (
	Unsent   Delivery = "unsent"   // it had no effect
	Refused  Delivery = "refused"  // the server rejected the request, most likely without running it
	Answered Delivery = "answered" // the server answered, but not usably: it has most likely had its effect
	Unknown  Delivery = "unknown"  // it may have had its effect
)

// Outcome is how a call ended.
type Outcome struct {
	Call     int             `json:"call"`
	Status   Status          `json:"status"`
	Text     string          `json:"text,omitempty"`
	Report   string          `json:"report,omitempty"` // what happened, if Text is for a model
	JSON     json.RawMessage `json:"json,omitempty"`   // structured content
	TooLarge int             `json:"too-large,omitempty"`
	Limit    int             `json:"limit,omitempty"`    // that TooLarge exceeds, if it is not maxResult
	Delivery Delivery        `json:"delivery,omitempty"` // of a lost call; a failed one that is unsent was given up
	Fault    string          `json:"fault,omitempty"`    // code of gauze's fault
	Cause    string          `json:"cause,omitempty"`    // code of the doctor's cause
	Need     string          `json:"need,omitempty"`     // what a person must do before the call is sent again, see person.go
	Person   string          `json:"person,omitempty"`   // the same for a call that may have had its effect
	Healed   []string        `json:"healed,omitempty"`   // what gauze repaired or repeated
	Took     time.Duration   `json:"took,omitempty"`

	value  any // the JSON, decoded when it is first referred to
	parsed bool
}

// Judged is a verdict about a server.
type Judged struct {
	Server string  `json:"server"`
	Health string  `json:"health"`
	Action string  `json:"action"`
	Reason string  `json:"reason"`
	By     string  `json:"by"`
	Tokens int     `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	// Rejected is why the answer of a model that was asked did not count.
	Rejected string `json:"rejected,omitempty"`
}

// Chosen is what a model chose to do next. It is written before it is acted on, and the model is not
// asked again for it.
type Chosen struct {
	Choice    int             `json:"choice"` // from 1
	Action    string          `json:"action"` // call, done or give_up
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Tokens    int             `json:"tokens,omitempty"`
	Cost      float64         `json:"cost,omitempty"`
}

// Why is why a task stopped.
type Why string

const (
	ServerDead       Why = "server-dead"
	NeedsDecision    Why = "needs-decision"
	NeedsPerson      Why = "needs-person"
	StepFailed       Why = "failed"
	Stuck            Why = "stuck"
	BudgetSpent      Why = "budget-spent"
	ModelUnavailable Why = "model-unavailable"
	ToolChanged      Why = "tool-changed"
	Interrupted      Why = "interrupted"
)

// Stopped is why a task stopped. Every stopped task can be resumed.
type Stopped struct {
	Why       Why       `json:"why"`
	Step      string    `json:"step,omitempty"`
	Item      int       `json:"item,omitempty"`
	Call      int       `json:"call,omitempty"` // the call that it is about; 0 if none
	Server    string    `json:"server,omitempty"`
	Since     time.Time `json:"since,omitzero"` // when the server went down
	Message   string    `json:"message"`        // what happened
	Diagnosis string    `json:"diagnosis,omitempty"`
	Remedy    string    `json:"remedy,omitempty"`
	Tokens    int       `json:"tokens,omitempty"` // for answers of a model that did not choose
	Cost      float64   `json:"cost,omitempty"`
}

// Decided is what a person decided about a call whose outcome is unknown.
type Decided struct {
	Call     int    `json:"call"`
	Decision string `json:"decision"` // done, repeat or skip
}

// Decisions lists the possible decisions.
var Decisions = []string{"done", "repeat", "skip"}

// Replanned is a corrected plan, with which the task continues. What is done is the same in it.
type Replanned struct {
	Plan Plan `json:"plan"`
}

// Resumed begins another run.
type Resumed struct {
	PID int `json:"pid,omitempty"`
}

// Done is the end of a task.
type Done struct {
	Summary string `json:"summary,omitempty"`
}

// entry returns data as an entry of this kind.
func entry(kind string, data any, now time.Time) Entry {
	text, err := json.Marshal(data)
	if err != nil {
		panic("task: " + err.Error()) // all entries are strings, numbers and valid JSON
	}
	return Entry{Time: now.UTC(), Kind: kind, Data: text}
}

// read decodes the data of an entry.
func read[T any](e Entry) (data T, err error) {
	if err = json.Unmarshal(e.Data, &data); err != nil {
		err = fmt.Errorf("entry %d (%s) of the task's log cannot be read: %w", e.Seq, e.Kind, err)
	}
	return data, err
}
