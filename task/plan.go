package task

import (
	"fmt"
	"strings"
	"time"
)

// Plan is what a task does: steps, or a goal for a model that chooses the calls. [Parse] reads
// it from a file.
type Plan struct {
	Name    string            // what the task is called. Default "task".
	Goal    string            // what a model is to achieve, in a plan without Steps
	Servers map[string]Server // the servers by name; Options.Servers are added to them
	Steps   []Step            // carried out in order
	Budget  Budget            // limits the task
}

// Server is how a server of a task is started or reached. It is recorded with the task, so secrets
// belong into variables that Env refers to, or into Options.Servers.
type Server struct {
	Command []string // the server's program and its arguments
	// Env is added to the environment of the calling process. ${NAME} in a value is replaced by the
	// variable NAME of that environment whenever the server is started; $${ is a literal ${.
	Env map[string]string
	Dir string // the working directory of Command. Default: that of the calling process.
	URL string // the address of a server, instead of a Command
	// Configured is the name by which a client knows the server, such as cursor/notes. The gauze
	// command finds it; in a program Options.Servers must have the server.
	Configured string
}

// Step is one tool call, or one for each item of a list.
type Step struct {
	ID     string // how later steps refer to the result
	Server string // the name of a server of the plan
	Tool   string // the name of a tool
	// Arguments is encoded as a JSON object. Its strings may contain ${id.text} and ${id.json.path},
	// which refer to the result of an earlier step.
	Arguments any
	When      []string // conditions that must all hold, such as "${list.json.count} > 0"
	For       string   // a loop, such as "note in ${list.json.notes}"
	Attempts  int      // how often the call is sent while the server rejects it. Default 1.
	Continue  bool     // the task goes on if the call fails or its server is dead
	Unlisted  bool     // the server may list the tool only after an earlier step
}

// Budget limits a task. The zero value of a field means no limit, except that a model chooses at
// most 50 calls.
type Budget struct {
	Steps  int           // limits tool calls
	Time   time.Duration // limits how long the task runs
	Tokens int           // limits those of models, in and out
	Cost   float64       // limits that of models, in US dollars
}

// PlanError is everything that is wrong with a plan.
type PlanError struct {
	Problems []Problem // in the order of the file
}

// Problem is one error in a plan.
type Problem struct {
	File    string // the name that Parse was given
	Line    int    // counted from 1; 0 in a plan that is not from a file
	Column  int    // counted from 1; 0 in a plan that is not from a file
	Field   string // where the error is in a plan that is not from a file, such as Steps[2]
	Message string // says what is wrong and what to do
}

// Error has a line for each problem.
func (e *PlanError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
		if p.Line == 0 {
			lines[i] = fmt.Sprintf("gauze: invalid task.Plan.%s: %s", p.Field, p.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// Parse reads the text of a task file, YAML or JSON, and validates it. file is its name for
// errors. The error is a [*PlanError] with every problem, and their lines and columns.
//
//	name: weekly report
//	servers:
//	  notes: {command: [npx, -y, notes-mcp]}
//	steps:
//	  - id: list
//	    server: notes
//	    tool: list_notes
//	  - id: read
//	    server: notes
//	    tool: read_note
//	    for: note in ${list.json.notes}
//	    arguments: {path: "${note.path}"}
func Parse(file string, text []byte) (Plan, error) { return parsePlan(file, text) }
