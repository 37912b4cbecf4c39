package execute

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// Results reads and writes what the function that runs a tool returns.
type Results interface {
	// Failure returns how a call failed. The zero value means that it did not.
	Failure(result any, err error) Failure
	// Note adds a text for the caller's model to an error, or to the content of a result.
	Note(result any, err error, text string) (any, error)
	// Stamp adds what the gate has to say about a call to its result.
	Stamp(d *repair.Decision, result any) any
}

// results are those in use.
var results Results = Errors{}

// UseResults sets how results are read. Package gauze calls it when it is initialized, because this
// package does not link the MCP SDK.
func UseResults(r Results) { results = r }

// Stamp is Stamp of the Results in use.
func Stamp(d *repair.Decision, result any) any { return results.Stamp(d, result) }

// Errors are results that only an error makes a failure.
type Errors struct{}

// Failure implements [Results].
func (Errors) Failure(_ any, err error) Failure {
	if err == nil {
		return Failure{}
	}
	f, _ := errors.AsType[*fault.Fault](err)
	return Failure{Err: err, Text: err.Error(), Fault: f}
}

// Note implements [Results].
func (Errors) Note(result any, err error, text string) (any, error) {
	if err != nil {
		err = fmt.Errorf("%w\n\n%s", err, text)
	}
	return result, err
}

// Stamp implements [Results].
func (Errors) Stamp(_ *repair.Decision, result any) any { return result }

// Failure is how a call that ran failed. The zero value means that it did not.
type Failure struct {
	Err    error
	Result any          // the failure, if it is a result; nil if it is an error
	Text   string       // what the server or the tool said
	Code   int          // of a JSON-RPC error
	Fault  *fault.Fault // what gauze reported, if the failure is a fault
	Lost   bool         // the connection to the server was lost
}

// Noted adds a note for the caller's model to the answer to a call: to its error, or to the content of
// its result.
func Noted[R any](result R, err error, note string) (R, error) {
	if note == "" {
		return result, err
	}
	noted, err := results.Note(result, err, fault.ModelMark+"] "+note)
	return As(noted, result), err
}

// As returns value if it has the type R, and otherwise the other value.
func As[R any](value any, otherwise R) R {
	if v, ok := value.(R); ok {
		return v
	}
	return otherwise
}

// Tool is what is known about a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
	ReadOnly    bool
	Idempotent  bool
}

// Safe reports whether a wrong call of the tool does no harm if it is sent again.
func (t Tool) Safe() bool { return t.ReadOnly || t.Idempotent }
