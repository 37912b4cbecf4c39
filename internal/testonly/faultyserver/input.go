package faultyserver

import (
	"bufio"
	"io"
)

// input reads lines. By default it reads ahead, as most servers do. If exact, it does not, so that
// messages that were not served stay in the pipe, where a proxy can count them.
type input struct {
	greedy *bufio.Reader
	exact  io.Reader
}

func newInput(r io.Reader, exact bool) *input {
	if exact {
		return &input{exact: r}
	}
	return &input{greedy: bufio.NewReaderSize(r, 64<<10)}
}

// line returns the next line without its newline, and an error if none follows.
func (in *input) line() ([]byte, error) {
	if in.greedy != nil {
		return in.greedy.ReadBytes('\n')
	}
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := in.exact.Read(one)
		if n == 1 {
			if one[0] == '\n' {
				return line, nil
			}
			line = append(line, one[0])
		}
		if err != nil {
			return line, err
		}
	}
}
