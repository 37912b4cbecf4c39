package gauze

import (
	"fmt"
	"strings"
	"time"
)

// TaskPlan is what a task does: steps, or a goal for a model that chooses the calls. [ParseTask] reads
// it from a file.
type TaskPlan struct {
	Name    string                // Name is what the task is called. Default "task".
	Goal    string                // Goal is what a model is to achieve, in a plan without Steps.
	Servers map[string]TaskServer // Servers are the servers by name; TaskOptions.Servers are added to them.
	Steps   []TaskStep            // Steps are carried out in order.
	Budget  TaskBudget            // Budget limits the task.
}

// TaskServer is how a server of a task is started or reached. It is recorded with the task, so secrets
// belong into variables that Env refers to, or into TaskOptions.Servers.
type TaskServer struct {
	Command []string // Command is the server's program and its arguments.
	// Env is added to the environment of the calling process. ${NAME} in a value is replaced by the
	// variable NAME of that environment whenever the server is started; $${ is a literal ${.
	Env map[string]string
	Dir string // Dir is the working directory of Command. Default: that of the calling process.
	URL string // URL is the address of a server, instead of a Command.
	// Configured is the name by which a client knows the server, such as cursor/notes. The gauze
	// command finds it; in a program TaskOptions.Servers must have the server.
	Configured string
}

// TaskStep is one tool call, or one for each item of a list.
type TaskStep struct {
	ID     string // ID is how later steps refer to the result.
	Server string // Server is the name of a server of the plan.
	Tool   string // Tool is the name of a tool.
	// Arguments is encoded as a JSON object. Its strings may contain ${id.text} and ${id.json.path},
	// which refer to the result of an earlier step.
	Arguments any
	When      []string // When are conditions that must all hold, such as "${list.json.count} > 0".
	For       string   // For is a loop, such as "note in ${list.json.notes}".
	Attempts  int      // Attempts is how often the call is sent while the server rejects it. Default 1.
	Continue  bool     // Continue means that the task goes on if the call fails or its server is dead.
	Unlisted  bool     // Unlisted means that the server may list the tool only after an earlier step.
}

// TaskBudget limits a task. The zero value of a field means no limit, except that a model chooses at
// most 50 calls.
type TaskBudget struct {
	Steps  int           // Steps limits tool calls.
	Time   time.Duration // Time limits how long the task runs.
	Tokens int           // Tokens limits those of models, in and out.
	Cost   float64       // Cost limits that of models, in US dollars.
}

// TaskPlanError is everything that is wrong with a plan.
type TaskPlanError struct {
	Problems []TaskProblem // Problems are in the order of the file.
}

// TaskProblem is one error in a plan.
type TaskProblem struct {
	File    string // File is the name that ParseTask was given.
	Line    int    // Line is counted from 1; 0 in a plan that is not from a file.
	Column  int    // Column is counted from 1; 0 in a plan that is not from a file.
	Field   string // Field is where the error is in a plan that is not from a file, such as Steps[2].
	Message string // Message says what is wrong and what to do.
}

// Error has a line for each problem.
func (e *TaskPlanError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
		if p.Line == 0 {
			lines[i] = fmt.Sprintf("gauze: invalid TaskPlan.%s: %s", p.Field, p.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// ParseTask reads the text of a task file, YAML or JSON, and validates it. file is its name for
// errors. The error is a [*TaskPlanError] with every problem, and their lines and columns.
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
func ParseTask(file string, text []byte) (TaskPlan, error) { return parsePlan(file, text) }
