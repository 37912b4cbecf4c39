package main

import (
	"bufio"
	"io"
	"os"
	"strconv"

	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

const roleStormServer = "_storm-server"

// runStormServer is the server under fire: it says which process it is, so
// that it can be killed, keeps a tally, and becomes the faulty server.
//
// Every fourth one is careful: it reads one value at a time and not a byte
// beyond its closing brace, and finishes it before it reads on. Behind such a
// server the rest of the pipe is provably unread, to the byte.
func runStormServer(args []string) error {
	tally, err := register(args[0])
	if err != nil {
		return err
	}
	flags, stdin := args[1:], io.Reader(os.Stdin)
	if os.Getpid()%4 == 0 {
		flags, stdin = append(flags, "-serial"), &valueReader{r: os.Stdin}
	}
	in := &talliedInput{lines: bufio.NewReaderSize(stdin, 64<<10), tally: tally}
	os.Exit(faultyserver.Main(flags, in, &talliedOutput{os.Stdout, tally}, os.Stderr))
	return nil
}

// register opens the tally and replaces the file with the pid as a whole:
// whoever reads it sees one server or the next.
func register(pidFile string) (*tally, error) {
	pid := os.Getpid()
	file, err := os.Create(tallyFile(pidFile, pid))
	if err != nil {
		return nil, err
	}
	next := pidFile + ".next"
	if err := os.WriteFile(next, strconv.AppendInt(nil, int64(pid), 10), 0o600); err != nil {
		return nil, err
	}
	return &tally{file: file}, os.Rename(next, pidFile)
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

// value reads until the braces balance, each time only as many bytes as there
// are braces to close: fewer cannot be left.
func (v *valueReader) value() (value []byte, err error) {
	room := make([]byte, 16)
	depth, quoted, escaped := 0, false, false
	for {
		some := room[:min(max(1, depth), len(room))]
		if _, err := io.ReadFull(v.r, some); err != nil {
			return nil, err
		}
		for _, c := range some {
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
				depth--
			}
		}
		if depth == 0 && len(value) > 0 {
			return value, nil
		}
	}
}
