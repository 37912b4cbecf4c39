package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind says what a message is.
type Kind int

const (
	Invalid      Kind = iota
	Request           // method and id
	Notification      // method, no id
	Response          // id and a result or an error
)

// Message is an inspected JSON-RPC message. Its slices point into Raw. An id, a
// method or a key of the envelope is valid UTF-8, or two readers would disagree
// on what the message says; all other bytes are passed on as they came.
type Message struct {
	Kind   Kind
	Raw    []byte
	ID     []byte // raw, quotes included; nil if there is none; `null` stays `null`
	Method string // decoded
	Params []byte // raw value, nil if absent
	Result []byte
	Error  []byte

	// How it came, over HTTP.
	Via    []byte // raw id of the request on whose stream it came; nil: on none
	Status int    // of the HTTP response that refused the request; 0: it was not refused

	idAt int // where ID starts in Raw
}

// Scan inspects the message at the start of line. rest is what follows it on
// the line, without white space; a well-behaved peer leaves nothing there.
// On error the message still carries the id if one was read, so that the
// sender can be answered.
func Scan(line []byte) (m Message, rest []byte, err error) {
	m, end, err := scanEnvelope(line)
	if err != nil {
		if !utf8.Valid(m.ID) {
			m.ID = nil // nothing to answer to
		}
		return m, nil, err
	}
	return m, line[skipSpace(line, end):], nil
}

// Keep copies the message into room, out of its reader's buffer, and returns
// the room, which may have grown.
func (m *Message) Keep(room []byte) (kept Message, _ []byte) {
	room = append(room[:0], m.Raw...)
	at := func(part []byte) []byte {
		if part == nil {
			return nil
		}
		from := cap(m.Raw) - cap(part) // all are slices of one array
		return room[from : from+len(part)]
	}
	kept = *m
	kept.Raw, kept.ID, kept.Params, kept.Result, kept.Error = room, at(m.ID), at(m.Params), at(m.Result), at(m.Error)
	return kept, room
}

// The keys JSON-RPC knows. Anything else at the top level passes untouched.
var envelopeKeys = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func scanEnvelope(line []byte) (m Message, end int, err error) {
	i := skipSpace(line, 0)
	if i >= len(line) {
		return m, i, short(i)
	}
	if line[i] != '{' {
		return m, i, wrong(i, "not a JSON object")
	}
	var seen [len(envelopeKeys)]bool
	i = skipSpace(line, i+1)
	if i < len(line) && line[i] == '}' {
		i++
		m.Raw = line[:i]
		return m, i, wrong(i, "an empty object is no message")
	}
	for {
		var key []byte
		if i, key, err = scanKey(line, i); err != nil {
			return m, i, err
		}
		which, err := envelopeKey(key)
		if err != nil {
			return m, i, wrong(i, err.Error())
		}
		from := skipSpace(line, i)
		if i, err = scanValue(line, from); err != nil {
			return m, i, err
		}
		value := line[from:i]
		if which >= 0 {
			if seen[which] {
				return m, from, wrong(from, fmt.Sprintf("key %q stands twice", envelopeKeys[which]))
			}
			seen[which] = true
			switch envelopeKeys[which] {
			case "jsonrpc":
				if string(value) != `"2.0"` {
					return m, from, wrong(from, `"jsonrpc" is not "2.0"`)
				}
			case "id":
				if c := value[0]; c != '"' && c != '-' && c != 'n' && (c < '0' || c > '9') {
					return m, from, wrong(from, "an id is a string or a number")
				}
				m.ID, m.idAt = value, from
				if !utf8.Valid(value) {
					return m, from, wrong(from, "invalid UTF-8 in an id")
				}
			case "method":
				if string(value) == "null" {
					break // says nothing, see forgetNulls
				}
				if m.Method, err = methodName(value); err != nil {
					return m, from, wrong(from, err.Error())
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
			return m, i, short(i)
		}
		if line[i] == '}' {
			i++
			break
		}
		if line[i] != ',' {
			return m, i, wrong(i, fmt.Sprintf("unexpected %q", rune(line[i])))
		}
		i++
	}
	m.Raw = line[:i]
	if !seen[0] {
		return m, i, wrong(i, `"jsonrpc" is missing`)
	}
	m.forgetNulls()
	switch {
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return m, i, wrong(i, "a method and a result or an error: a question and an answer in one")
	case m.Method != "" && m.ID == nil:
		m.Kind = Notification
	case m.Method != "" && string(m.ID) != "null":
		m.Kind = Request
	case m.Method != "":
		return m, i, wrong(m.idAt, "the id of a request is null")
	case m.ID != nil || m.Error != nil:
		m.Kind = Response
	default:
		return m, i, wrong(i, "neither a method nor an id")
	}
	return m, i, nil
}

// forgetNulls treats a null as an absent member where it says nothing: some
// programs write every member of every message. A null result alone is a result,
// and a null id makes a notification only of what is one by its method.
func (m *Message) forgetNulls() {
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

// envelopeKey returns the index of key in envelopeKeys, -1 for an unknown
// key. A key that only looks like a known one (another case, escapes) is an
// error: encoding/json and others would take it for the known one.
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
			return -1, fmt.Errorf("key %q cannot be read", key)
		}
		for _, known := range envelopeKeys {
			if strings.EqualFold(name, known) {
				return -1, fmt.Errorf("key %q is spelled with escapes", known)
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

// methodName decodes a method. The usual ones cost no allocation.
func methodName(raw []byte) (string, error) {
	if raw[0] != '"' {
		return "", fmt.Errorf("a method is a string")
	}
	if name, ok := known[string(raw[1:len(raw)-1])]; ok {
		return name, nil
	}
	if !utf8.Valid(raw) {
		return "", fmt.Errorf("invalid UTF-8 in a method")
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return "", fmt.Errorf("the method cannot be read")
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
		return nil, wrong(i, "not a batch")
	}
	var elements [][]byte
	i = skipSpace(line, i+1)
	if i < len(line) && line[i] == ']' {
		return nil, wrong(i, "an empty batch")
	}
	for {
		from := skipSpace(line, i)
		end, err := scanValue(line, from)
		if err != nil {
			return nil, err
		}
		if len(elements) == limit {
			return nil, wrong(from, fmt.Sprintf("a batch of more than %d messages", limit))
		}
		elements = append(elements, line[from:end])
		i = skipSpace(line, end)
		if i >= len(line) {
			return nil, short(i)
		}
		if line[i] == ']' {
			if skipSpace(line, i+1) != len(line) {
				return nil, wrong(i, "text behind the batch")
			}
			return elements, nil
		}
		if line[i] != ',' {
			return nil, wrong(i, "expected ',' between messages")
		}
		i++
	}
}

// OneLine makes one line, in place, of a message that was written on several.
// Line ends stand only between the parts of a valid message: in a string they
// are escaped.
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
