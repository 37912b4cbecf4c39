package document

import (
	"bytes"
	"fmt"
	"strings"
)

// maxUnclosed limits the brackets that are open at the same time, also in strings. The YAML library
// takes time that grows with the square of the nesting, so it is limited before it is parsed.
const maxUnclosed = 500

// tooDeep returns the problem of a YAML text that is nested so deeply that parsing it takes long, or
// nil.
func tooDeep(text []byte) *Problem {
	number := 0
	open := 0
	for line := range bytes.Lines(text) {
		number++
		dashes := 0
		for rest := line; len(rest) > 1 && strings.IndexByte("-? ", rest[0]) >= 0; rest = rest[1:] {
			if rest[0] != ' ' {
				dashes++
			}
		}
		for column, b := range line {
			switch b {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			}
			if open > maxUnclosed || dashes > maxUnclosed {
				return problemAt(at(number, column+1), fmt.Sprintf("the file is nested more than %d levels deep", maxDepth))
			}
		}
	}
	return nil
}
