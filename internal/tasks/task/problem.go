package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one error in a task file.
type Problem struct {
	File         string
	Line, Column int
	Message      string // what is wrong and what to do
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

func problemAt(at position, message string) *Problem {
	return &Problem{Line: at.line, Column: at.column, Message: message}
}

// Problems are all errors in a task file, in the order of the file.
type Problems []*Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems of a file in order.
func (p Problems) sorted(file string) Problems {
	for _, one := range p {
		one.File = file
	}
	slices.SortStableFunc(p, func(a, b *Problem) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	return p
}
