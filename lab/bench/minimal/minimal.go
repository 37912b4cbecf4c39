// Package minimal is the fastest possible MCP server: what is measured with it is the cost of
// everything else.
package minimal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is larger than any line that is measured.
const MaxLine = 2 << 20

const (
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"minimal-echo","version":"1"}}`
	tools       = `{"tools":[{"name":"echo","description":"Sends the text back.",` +
		`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},` +
		`"annotations":{"readOnlyHint":true}}]}`
	unknown = `{"code":-32601,"message":"method not found"}`
)

// Serve is a loop that splices the id and the text into a
// response and writes it immediately. It does not parse JSON, so it only understands what the
// benchmark and gauze send: text without escapes. With such a server every microsecond that gauze
// adds is visible.
func Serve(r io.Reader, w io.Writer) error {
	lines := bufio.NewReaderSize(r, MaxLine)
	var answer []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		id := RawID(line)
		if id == nil {
			continue // a notification
		}
		answer = append(answer[:0], `{"jsonrpc":"2.0","id":`...)
		answer = append(answer, id...)
		switch method := QuotedAfter(line, `"method":"`); string(method) {
		case "tools/call":
			answer = append(answer, `,"result":{"content":[{"type":"text","text":"`...)
			answer = append(answer, QuotedAfter(line, `"text":"`)...)
			answer = append(answer, `"}]}`...)
		case "initialize":
			answer = append(append(answer, `,"result":`...), initialized...)
		case "tools/list":
			answer = append(append(answer, `,"result":`...), tools...)
		case "ping":
			answer = append(answer, `,"result":{}`...)
		default:
			answer = append(append(answer, `,"error":`...), unknown...)
		}
		answer = append(answer, '}', '\n')
		if _, err := w.Write(answer); err != nil {
			return err
		}
	}
}

// RawID returns the bytes of the first "id" member, or nil. It relies on the id being before any
// payload, which is true of every process measured here.
func RawID(line []byte) []byte {
	at := bytes.Index(line, []byte(`"id":`))
	if at < 0 {
		return nil
	}
	rest := line[at+len(`"id":`):]
	if end := bytes.IndexAny(rest, ",}"); end >= 0 {
		return rest[:end]
	}
	return nil
}

// QuotedAfter returns the bytes between the marker and the next quote.
func QuotedAfter(line []byte, marker string) []byte {
	at := bytes.Index(line, []byte(marker))
	if at < 0 {
		return nil
	}
	rest := line[at+len(marker):]
	if end := bytes.IndexByte(rest, '"'); end >= 0 {
		return rest[:end]
	}
	return nil
}
