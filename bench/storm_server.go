package main

import (
	"fmt"
	"io"
	"os"

	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

const roleStormServer = "_storm-server"

// runStormServer is the server under fire: it says which process it is, so
// that it can be killed, and becomes the faulty server.
//
// Every third one is careful: it reads one value at a time and not a byte
// beyond its closing brace, and finishes it before it reads on. Behind such a
// server the rest of the pipe is provably unread, to the byte.
func runStormServer(args []string) error {
	if err := registerPID(args[0]); err != nil {
		return err
	}
	flags, stdin := args[1:], io.Reader(os.Stdin)
	if os.Getpid()%3 == 0 {
		flags, stdin = append(flags, "-serial"), &valueReader{r: os.Stdin}
	}
	os.Exit(faultyserver.Main(flags, stdin, os.Stdout, os.Stderr))
	return nil
}

// registerPID replaces the file as a whole: whoever reads it sees one pid or the next.
func registerPID(file string) error {
	next := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(next, fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// valueReader returns one JSON object per Read, as a line, and leaves
// everything behind its closing brace in the pipe, the line end included. The
// JSON must be what this benchmark and the wrap write: no newline inside.
type valueReader struct {
	r    io.Reader
	rest []byte
}

func (v *valueReader) Read(b []byte) (int, error) {
	if len(v.rest) == 0 {
		value, err := v.value()
		if err != nil {
			return 0, err
		}
		v.rest = append(value, '\n')
	}
	n := copy(b, v.rest)
	v.rest = v.rest[n:]
	return n, nil
}

// value reads byte by byte until the braces balance.
func (v *valueReader) value() (value []byte, err error) {
	var one [1]byte
	depth, quoted, escaped := 0, false, false
	for {
		if _, err := io.ReadFull(v.r, one[:]); err != nil {
			return nil, err
		}
		c := one[0]
		if depth == 0 && c != '{' {
			continue // the line end of the value before
		}
		value = append(value, c)
		switch {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = true
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return value, nil
			}
		}
	}
}
