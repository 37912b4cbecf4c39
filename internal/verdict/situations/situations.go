// Package situations is a table of situations with the right verdict on each. The right answers
// were decided before the rules were written; where two can be justified, both are right.
package situations

import (
	"bytes"
	_ "embed"
	"encoding/json"

	"github.com/gauze-mcp/gauze/internal/verdict"
)

// Situation is one row of the table.
type Situation struct {
	Name  string           `json:"name"`
	Right []verdict.Action `json:"right"`
	Why   string           `json:"why"`
	Facts verdict.Facts    `json:"facts"`
}

//go:embed situations.jsonl
var table []byte

// All returns the table.
func All() (all []Situation, err error) {
	for line := range bytes.Lines(table) {
		var s Situation
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
