package faultyserver

import (
	"bufio"
	"io"
)

// input reads lines. Greedy by default, as servers are; exact when messages that were not served have to stay in
// the pipe, where a layer in front can count them.
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

// line returns the next line without its end, and an error when there is none after it.
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
