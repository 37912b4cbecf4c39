package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Protocol version 2026-07-28 repeats parts of a request in HTTP headers, so that
// gateways can route without reading bodies: the method, the requested name, and
// the arguments that a tool marks with x-mcp-header. They must match the body.

// MirroredName returns the value of Mcp-Name: the name of the tool or prompt, or
// the URI of the resource. mirrored is false for other methods.
func MirroredName(method string, params []byte) (name string, mirrored bool) {
	key := "name"
	switch method {
	case "tools/call", "prompts/get":
	case "resources/read":
		key = "uri"
	default:
		return "", false
	}
	value, _ := Field(params, key)
	name, _ = Text(value)
	return name, true
}

// Mirror is an argument of a tool that is repeated in the header
// Mcp-Param-<Header>.
type Mirror struct {
	Path   []string // property names
	Header string
}

// Mirrors returns the arguments marked with x-mcp-header in a tool's input schema.
// If one of the marks is invalid it returns none, because a guess could leak an
// argument into a header.
func Mirrors(schema []byte) []Mirror {
	if !strings.Contains(string(schema), "x-mcp-header") {
		return nil
	}
	var root marked
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	seen := map[string]bool{}
	found, ok := root.mirrors(nil, nil, seen)
	if !ok {
		return nil
	}
	return found
}

// marked is the part of a schema that can contain marks.
type marked struct {
	Type       any               `json:"type"`
	Header     json.RawMessage   `json:"x-mcp-header"`
	Properties map[string]marked `json:"properties"`
}

func (s marked) mirrors(found []Mirror, path []string, seen map[string]bool) (_ []Mirror, ok bool) {
	if len(path) > 32 {
		return found, false
	}
	for name, property := range s.Properties {
		at := append(path[:len(path):len(path)], name)
		if property.Header != nil {
			var header string
			if json.Unmarshal(property.Header, &header) != nil || !HeaderName(header) || seen[strings.ToLower(header)] {
				return nil, false
			}
			if property.Type != "string" && property.Type != "integer" && property.Type != "boolean" {
				return nil, false
			}
			seen[strings.ToLower(header)] = true
			found = append(found, Mirror{Path: at, Header: header})
		}
		if found, ok = property.mirrors(found, at, seen); !ok {
			return nil, false
		}
	}
	return found, true
}

// HeaderName reports whether s is a valid header name (RFC 9110, token).
func HeaderName(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// Value returns the mirrored argument, or nil if it is absent or null.
func (m Mirror) Value(arguments []byte) []byte {
	value := arguments
	for _, name := range m.Path {
		value, _ = Field(value, name)
	}
	if string(value) == "null" {
		return nil
	}
	return value
}

// HeaderValue formats a JSON string, integer or boolean as a header value.
func HeaderValue(raw []byte) (value string, ok bool) {
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"':
		text, ok := Text(raw)
		return EncodeHeader(text), ok
	case raw[0] == 't', raw[0] == 'f':
		return string(raw), true
	}
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !whole(number) {
		return "", false
	}
	return strconv.FormatInt(int64(number), 10), true
}

// SameValue reports whether a header matches the JSON value that it mirrors.
func SameValue(header string, raw []byte) bool {
	decoded, ok := DecodeHeader(header)
	if !ok || len(raw) == 0 {
		return false
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		a, errA := strconv.ParseFloat(decoded, 64)
		b, errB := strconv.ParseFloat(string(raw), 64)
		return errA == nil && errB == nil && whole(a) && a == b
	}
	if raw[0] == '"' {
		text, ok := Text(raw)
		return ok && text == decoded
	}
	return decoded == string(raw)
}

// whole reports whether f is an integer that every language represents exactly.
func whole(f float64) bool { return f == math.Trunc(f) && math.Abs(f) <= 1<<53-1 }

const (
	encodedHead = "=?base64?"
	encodedTail = "?="
)

// EncodeHeader makes a string safe for a header. Anything but printable ASCII, and
// anything that looks encoded, is encoded in base64, so the result never contains
// a newline.
func EncodeHeader(text string) string {
	plain := !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\t") && !strings.HasSuffix(text, " ") && !strings.HasSuffix(text, "\t") &&
		!(strings.HasPrefix(text, encodedHead) && strings.HasSuffix(text, encodedTail))
	for _, c := range []byte(text) {
		plain = plain && c >= 0x20 && c <= 0x7e
	}
	if plain {
		return text
	}
	return encodedHead + base64.StdEncoding.EncodeToString([]byte(text)) + encodedTail
}

// DecodeHeader reverses EncodeHeader; ok is false for invalid base64.
func DecodeHeader(value string) (text string, ok bool) {
	inner, head := strings.CutPrefix(value, encodedHead)
	inner, tail := strings.CutSuffix(inner, encodedTail)
	if !head || !tail {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(inner)
	return string(decoded), err == nil
}
