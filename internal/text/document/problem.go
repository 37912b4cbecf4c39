package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one error in a file.
type Problem struct {
	File         string
	Line, Column int
	Key          string // the keys that lead to it; empty for the whole file
	Message      string // what is wrong and what to do
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

func problemAt(at Position, message string) *Problem {
	return &Problem{Line: at.Line, Column: at.Column, Key: at.Key, Message: message}
}

// Problems are all errors in a file, in the order of the file.
type Problems []*Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// In returns the problems as those of a file, in order.
func (p Problems) In(file string) Problems {
	for _, one := range p {
		one.File = file
	}
	slices.SortStableFunc(p, func(a, b *Problem) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	return p
}
