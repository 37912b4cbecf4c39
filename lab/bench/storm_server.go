package main

import (
	"bufio"
	"io"
	"os"
	"strconv"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

const roleStormServer = "_storm-server"

// runStormServer runs the server that the storm kills. It writes its process id to a file, keeps a
// tally and becomes the faulty server.
//
// Every fourth one reads one JSON value at a time, not a byte beyond its closing brace, and
// finishes it before reading on. With such a server the rest of the pipe is provably unread, to the
// byte.
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

// register opens the tally and replaces the pid file atomically, so that its readers see one server
// or the next.
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

// valueReader returns one JSON object per Read, as a line, and leaves everything after its closing
// brace in the pipe, including the newline. The JSON must be what this benchmark and gauze write:
// without newlines inside.
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

// value reads until the braces balance, each time only as many bytes as there are braces to close:
// at least as many must follow.
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
				continue // the newline after the previous value
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
