// Package situations has two tables of situations with the right verdict on each. The right answers
// were decided before the rules were written; where two can be justified, both are right.
package situations

import (
	"bytes"
	_ "embed"
	"encoding/json"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
)

// Situation is one row of a table.
type Situation struct {
	Name  string           `json:"name"`
	Right []verdict.Action `json:"right"`
	Why   string           `json:"why"`
	Facts verdict.Facts    `json:"facts"`
}

//go:embed situations.jsonl
var table []byte

//go:embed choices.jsonl
var choices []byte

// All returns the situations in which the rules decide.
func All() ([]Situation, error) { return read(table) }

// Choices returns the situations in which the rules leave a choice: what is right depends on what
// only a reader understands.
func Choices() ([]Situation, error) { return read(choices) }

func read(lines []byte) (all []Situation, err error) {
	for line := range bytes.Lines(lines) {
		var s Situation
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
