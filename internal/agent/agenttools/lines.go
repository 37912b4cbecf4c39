package agenttools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const maxLineBytes = 16 << 20

// lineReader passes on the client's messages, one per line. It rejects a line that is not a message
// itself: the SDK would close the connection and end every call in progress.
type lineReader struct {
	io.Closer
	from *bufio.Reader
	out  io.Writer
	left []byte // of messages that were already read
}

func newLineReader(in io.ReadCloser, out io.Writer) *lineReader {
	return &lineReader{Closer: in, from: bufio.NewReader(in), out: out}
}

func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		line, err := l.next()
		switch {
		case errors.Is(err, errTooLong):
			l.refuse(nil, jsonrpc.CodeParseError, "the message is longer than 16 MiB and was skipped")
		case err != nil && len(line) == 0:
			return 0, err
		default:
			l.take(line)
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

var errTooLong = errors.New("the message is too long")

// next returns a whole line without surrounding white space. The last line need not end in a
// newline.
func (l *lineReader) next() (line []byte, err error) {
	long := false
	for {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLineBytes; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long:
			return nil, errTooLong
		default:
			return bytes.TrimSpace(line), err
		}
	}
}

// take passes on a message. It splits a batch, which most protocol versions do not support.
func (l *lineReader) take(line []byte) {
	var batch []json.RawMessage
	switch {
	case len(line) == 0:
	case !json.Valid(line):
		l.refuse(nil, jsonrpc.CodeParseError, "the line is not valid JSON; send one message per line")
	case line[0] == '[' && json.Unmarshal(line, &batch) == nil && len(batch) > 0:
		for _, message := range batch {
			l.pass(message)
		}
	default:
		l.pass(line)
	}
}

func (l *lineReader) pass(message []byte) {
	if _, err := jsonrpc.DecodeMessage(message); err != nil {
		l.refuse(callOf(message), jsonrpc.CodeInvalidRequest, `the line is not a JSON-RPC message: it must be an object with "jsonrpc": "2.0" and a method`)
		return
	}
	l.left = append(append(l.left, message...), '\n')
}

// callOf returns the id of an invalid request, or nil if it has none.
func callOf(message []byte) json.RawMessage {
	var call struct {
		ID     any             `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	decoder := json.NewDecoder(bytes.NewReader(message))
	decoder.UseNumber()
	if decoder.Decode(&call) != nil || call.Method == nil {
		return nil
	}
	switch call.ID.(type) {
	case string, json.Number:
		id, _ := json.Marshal(call.ID) // decoded from JSON
		return id
	}
	return nil
}

func (l *lineReader) refuse(id json.RawMessage, code int64, why string) {
	answer, _ := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: why}}) // plain text always encodes
	_, _ = l.out.Write(append(answer, '\n')) // the client may be gone
}

// syncWriter serializes writes, so that messages do not interleave.
type syncWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (t *syncWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.WriteCloser.Write(p)
}
