package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// maxLine is the length of the longest message that is read.
const maxLine = 16 << 20

// read handles the messages of the client until in ends. A line that is not a message is rejected, and
// does not end the connection.
func (c *conn) read(in io.Reader) error {
	lines := wire.NewReader(in, maxLine)
	for {
		line, err := lines.Next()
		if _, ok := errors.AsType[*wire.TooLong](err); ok {
			c.refuse(nil, &Error{Code: CodeParse, Message: "the message is longer than 16 MiB and was skipped"})
			continue
		}
		if err != nil {
			c.line(lines.Unfinished()) // the last line need not end in a newline
			return err
		}
		c.line(line)
	}
}

// line handles the messages on a line: one, or those of a batch, which most versions do not have.
func (c *conn) line(line []byte) {
	line = bytes.Clone(bytes.TrimSpace(line)) // requests keep parts of it
	var batch []json.RawMessage
	switch {
	case len(line) == 0:
	case !json.Valid(line):
		c.refuse(nil, &Error{Code: CodeParse, Message: "the line is not valid JSON; send one message per line"})
	case line[0] == '[' && json.Unmarshal(line, &batch) == nil && len(batch) > 0:
		for _, message := range batch {
			c.message(message)
		}
	default:
		c.message(line)
	}
}

func (c *conn) message(text []byte) {
	m, _, err := wire.Scan(text)
	switch {
	case err != nil:
		c.refuse(callOf(text), &Error{Code: CodeInvalidRequest, Message: "the line is not a JSON-RPC message: " + err.Error()})
	case m.Kind == wire.Request:
		c.request(m)
	case m.Kind == wire.Response:
		c.answered(m)
	case m.Method == "notifications/cancelled":
		c.cancelled(m.Params)
	}
}

// callOf returns the id of an invalid request, or nil if it has none.
func callOf(message []byte) json.RawMessage {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if wire.DecodeExact(message, &call) != nil || call.Method == nil || len(call.ID) == 0 {
		return nil
	}
	if first := call.ID[0]; first != '"' && first != '-' && (first < '0' || first > '9') {
		return nil
	}
	return call.ID
}
