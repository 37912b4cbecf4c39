package task

import (
	"cmp"
	"encoding/json"
	"time"
)

// Plan is what the user asked for: a goal, servers, steps and a budget. A plan without steps is
// carried out by a model. Its JSON is part of the log, so fields are only ever added.
type Plan struct {
	Name    string            `json:"name"`
	Goal    string            `json:"goal,omitempty"`
	Servers map[string]Server `json:"servers"`
	Steps   []Step            `json:"steps,omitempty"`
	Budget  Budget            `json:"budget,omitzero"`
}

// ByModel reports whether a model chooses the calls.
func (p *Plan) ByModel() bool { return len(p.Steps) == 0 }

// Server is how a server is started or reached. Exactly one of Command, URL and Configured is set.
type Server struct {
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // in addition to the environment of gauze
	// Cwd is relative to where the task was started. For a configured server it is that directory.
	Cwd string `json:"cwd,omitempty"`
	URL string `json:"url,omitempty"`
	// Configured is the name by which a client knows the server, such as cursor/notes.
	Configured string `json:"configured,omitempty"`
}

// Step is one tool call, or one for each item of a list.
type Step struct {
	ID        string          `json:"id"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object whose strings may contain references
	When      []string        `json:"when,omitempty"`      // conditions, which must all hold
	For       string          `json:"for,omitempty"`       // NAME in LIST
	OnError   OnError         `json:"on-error,omitzero"`
	// Unlisted means that the server may list the tool only after an earlier step.
	Unlisted bool `json:"unlisted,omitempty"`
}

// OnError is what happens if a call fails. It does not apply to a call whose outcome is unknown:
// that is decided by a person, unless a repetition is safe.
type OnError struct {
	// Attempts is how often the call is sent while the server rejects it. 0 means once.
	Attempts int `json:"attempts,omitempty"`
	// Continue means that the task goes on without the result, also if the server is dead. Otherwise
	// it stops.
	Continue bool `json:"continue,omitempty"`
}

// defaultAttempts is what on-error: retry means.
const defaultAttempts = 3

// Budget limits a task. The zero value of a field means no limit, except for the steps, which have a
// default.
type Budget struct {
	Steps  int           `json:"steps,omitempty"`  // tool calls
	Time   time.Duration `json:"time,omitempty"`   // while the task runs; it does not count while it is stopped
	Tokens int           `json:"tokens,omitempty"` // of models, in and out
	Cost   float64       `json:"cost,omitempty"`   // of models, in US dollars
}

const (
	// defaultSteps limits the calls of a plan with steps: a loop may be over a list of any length.
	defaultSteps = 10_000
	// defaultAgentSteps limits the calls that a model chooses, so that a task always ends.
	defaultAgentSteps = 50
)

// maxSteps returns the limit in force.
func (p *Plan) maxSteps() int {
	if p.ByModel() {
		return cmp.Or(p.Budget.Steps, defaultAgentSteps)
	}
	return cmp.Or(p.Budget.Steps, defaultSteps)
}
