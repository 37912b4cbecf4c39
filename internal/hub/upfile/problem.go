package upfile

import (
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/document"
)

// Problems are all errors in a file, in the order of the file.
type Problems document.Problems

// Error returns a line for each problem: FILE:LINE: KEY: what is wrong and what to do.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = fmt.Sprintf("%s:%d: %s", one.File, one.Line, one.Message)
		if one.Key != "" {
			lines[i] = fmt.Sprintf("%s:%d: %s: %s", one.File, one.Line, one.Key, one.Message)
		}
	}
	return strings.Join(lines, "\n")
}
