package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a message.
type Kind int

const (
	Invalid      Kind = iota
	Request           // method and id
	Notification      // method, no id
	Response          // id and a result or an error
)

// Message is an inspected JSON-RPC message. Its slices point into Raw. Ids,
// methods and keys of the envelope are valid UTF-8, because two readers could
// disagree on anything else; all other bytes are forwarded unchanged.
type Message struct {
	Kind   Kind
	Raw    []byte
	ID     []byte // raw, with quotes; nil if absent; `null` stays `null`
	Method string // decoded
	Params []byte // raw value, nil if absent
	Result []byte
	Error  []byte

	// MayBeError means that a key "isError" is in the payload, at any depth.
	MayBeError bool

	// Set for messages received over HTTP.
	Via    []byte // raw id of the request on whose stream it arrived; nil if on none
	Status int    // HTTP status that rejected the request; 0 if it was not rejected

	idAt int // where ID starts in Raw
}

// Scan inspects the message at the start of line. rest is what follows it on
// the line, without leading white space; it should be empty. On error the message
// still has its id if one was read, so that the sender gets a response.
func Scan(line []byte) (m Message, rest []byte, err error) {
	m, end, err := scanEnvelope(line)
	if err != nil {
		if !utf8.Valid(m.ID) {
			m.ID = nil // it cannot be used in a response
		}
		return m, nil, err
	}
	return m, line[skipSpace(line, end):], nil
}

// Keep copies the message out of its reader's buffer into room and returns room,
// which may have grown.
func (m *Message) Keep(room []byte) (kept Message, _ []byte) {
	room = append(room[:0], m.Raw...)
	at := func(part []byte) []byte {
		if part == nil {
			return nil
		}
		from := cap(m.Raw) - cap(part) // all are slices of the same array
		return room[from : from+len(part)]
	}
	kept = *m
	kept.Raw, kept.ID, kept.Params, kept.Result, kept.Error = room, at(m.ID), at(m.Params), at(m.Result), at(m.Error)
	return kept, room
}

// envelopeKeys are the keys that JSON-RPC defines. Others are forwarded unchanged.
var envelopeKeys = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func scanEnvelope(line []byte) (m Message, end int, err error) {
	i := skipSpace(line, 0)
	if i >= len(line) {
		return m, i, truncated(i)
	}
	if line[i] != '{' {
		return m, i, syntaxError(i, "not a JSON object")
	}
	var seen [len(envelopeKeys)]bool
	i = skipSpace(line, i+1)
	if i < len(line) && line[i] == '}' {
		i++
		m.Raw = line[:i]
		return m, i, syntaxError(i, "an empty object is not a message")
	}
	for {
		var key []byte
		if i, key, err = scanKey(line, i); err != nil {
			return m, i, err
		}
		which, err := envelopeKey(key)
		if err != nil {
			return m, i, syntaxError(i, err.Error())
		}
		from := skipSpace(line, i)
		if i, err = scanValue(line, from, &m.MayBeError); err != nil {
			return m, i, err
		}
		value := line[from:i]
		if which >= 0 {
			if seen[which] {
				return m, from, syntaxError(from, fmt.Sprintf("duplicate key %q", envelopeKeys[which]))
			}
			seen[which] = true
			switch envelopeKeys[which] {
			case "jsonrpc":
				if string(value) != `"2.0"` {
					return m, from, syntaxError(from, `"jsonrpc" must be "2.0"`)
				}
			case "id":
				if c := value[0]; c != '"' && c != '-' && c != 'n' && (c < '0' || c > '9') {
					return m, from, syntaxError(from, "the id must be a string or a number")
				}
				m.ID, m.idAt = value, from
				if !utf8.Valid(value) {
					return m, from, syntaxError(from, "invalid UTF-8 in an id")
				}
			case "method":
				if string(value) == "null" {
					break // same as absent, see dropNulls
				}
				if m.Method, err = methodName(value); err != nil {
					return m, from, syntaxError(from, err.Error())
				}
			case "params":
				m.Params = value
			case "result":
				m.Result = value
			case "error":
				m.Error = value
			}
		}
		i = skipSpace(line, i)
		if i >= len(line) {
			return m, i, truncated(i)
		}
		if line[i] == '}' {
			i++
			break
		}
		if line[i] != ',' {
			return m, i, syntaxError(i, fmt.Sprintf("unexpected %q", rune(line[i])))
		}
		i++
	}
	m.Raw = line[:i]
	if !seen[0] {
		return m, i, syntaxError(i, `"jsonrpc" is missing`)
	}
	m.dropNulls()
	switch {
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return m, i, syntaxError(i, "the message has a method together with a result or an error")
	case m.Method != "" && m.ID == nil:
		m.Kind = Notification
	case m.Method != "" && string(m.ID) != "null":
		m.Kind = Request
	case m.Method != "":
		return m, i, syntaxError(m.idAt, "the request's id is null")
	case m.ID != nil || m.Error != nil:
		m.Kind = Response
	default:
		return m, i, syntaxError(i, "the message has neither a method nor an id")
	}
	return m, i, nil
}

// dropNulls treats null members as absent, because some programs write every
// member of every message. A null result without an error is still a result, and
// a null id is dropped only from methods that are notifications.
func (m *Message) dropNulls() {
	if string(m.ID) == "null" && strings.HasPrefix(m.Method, "notifications/") {
		m.ID = nil
	}
	if string(m.Error) == "null" {
		m.Error = nil
	}
	if string(m.Result) == "null" && (m.Error != nil || m.Method != "") {
		m.Result = nil
	}
}

// envelopeKey returns the index of key in envelopeKeys, or -1 for an unknown key.
// A key that differs from a known one only in case or escapes is an error:
// encoding/json and others read it as the known one.
func envelopeKey(key []byte) (int, error) {
	for i, known := range envelopeKeys {
		if string(key) == known {
			return i, nil
		}
	}
	if !utf8.Valid(key) {
		return -1, fmt.Errorf("invalid UTF-8 in a key")
	}
	name := string(key)
	if bytes.IndexByte(key, '\\') >= 0 {
		if json.Unmarshal([]byte(`"`+name+`"`), &name) != nil {
			return -1, fmt.Errorf("invalid key %q", key)
		}
		for _, known := range envelopeKeys {
			if strings.EqualFold(name, known) {
				return -1, fmt.Errorf("key %q must not contain escape sequences", known)
			}
		}
		return -1, nil
	}
	for _, known := range envelopeKeys {
		if strings.EqualFold(name, known) {
			return -1, fmt.Errorf("key %q differs from %q only in case", name, known)
		}
	}
	return -1, nil
}

// methodName decodes a method. It does not allocate for known methods.
func methodName(raw []byte) (string, error) {
	if raw[0] != '"' {
		return "", fmt.Errorf("the method must be a string")
	}
	if name, ok := known[string(raw[1:len(raw)-1])]; ok {
		return name, nil
	}
	if !utf8.Valid(raw) {
		return "", fmt.Errorf("invalid UTF-8 in a method")
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return "", fmt.Errorf("the method is not a valid string")
	}
	if name == "" {
		return "", fmt.Errorf("the method is empty")
	}
	return name, nil
}

var known = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"initialize", "notifications/initialized", "ping", "server/discover",
		"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
		"completion/complete", "logging/setLevel", "subscriptions/listen",
		"notifications/subscriptions/acknowledged", "notifications/cancelled", "notifications/progress",
		"notifications/message", "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated",
		"notifications/roots/list_changed", "roots/list", "sampling/createMessage", "elicitation/create",
	} {
		names[name] = name
	}
	return names
}()

// SplitBatch returns the elements of a JSON array, at most limit of them.
func SplitBatch(line []byte, limit int) ([][]byte, error) {
	i := skipSpace(line, 0)
	if i >= len(line) || line[i] != '[' {
		return nil, syntaxError(i, "not a batch")
	}
	var elements [][]byte
	i = skipSpace(line, i+1)
	if i < len(line) && line[i] == ']' {
		return nil, syntaxError(i, "the batch is empty")
	}
	for {
		from := skipSpace(line, i)
		end, err := scanValue(line, from, nil)
		if err != nil {
			return nil, err
		}
		if len(elements) == limit {
			return nil, syntaxError(from, fmt.Sprintf("the batch has more than %d messages", limit))
		}
		elements = append(elements, line[from:end])
		i = skipSpace(line, end)
		if i >= len(line) {
			return nil, truncated(i)
		}
		if line[i] == ']' {
			if skipSpace(line, i+1) != len(line) {
				return nil, syntaxError(i, "unexpected content after the batch")
			}
			return elements, nil
		}
		if line[i] != ',' {
			return nil, syntaxError(i, "expected ',' between messages")
		}
		i++
	}
}

// OneLine replaces the newlines in a message with spaces, in place. In a valid
// message they occur only between tokens: in strings they are escaped.
func OneLine(message []byte) []byte {
	if bytes.IndexByte(message, '\n') < 0 && bytes.IndexByte(message, '\r') < 0 {
		return message
	}
	for i, c := range message {
		if c == '\n' || c == '\r' {
			message[i] = ' '
		}
	}
	return message
}

// ScanLine appends the messages on a line: one, several with nothing else between them, or the
// elements of a batch.
func ScanLine(messages []Message, line []byte) (_ []Message, ok bool) {
	parts := [][]byte{line}
	if line[0] == '[' {
		var err error
		if parts, err = SplitBatch(line, MaxBatch); err != nil {
			return messages, false
		}
	}
	for _, part := range parts {
		for len(part) > 0 {
			m, rest, err := Scan(part)
			if err != nil {
				return messages, false
			}
			messages = append(messages, m)
			part = rest
		}
	}
	return messages, true
}

// MaxBatch is the maximum number of messages in a batch.
const MaxBatch = 100
