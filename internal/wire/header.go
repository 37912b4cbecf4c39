package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// What 2026-07-28 mirrors in HTTP headers, so that a gateway can route without
// reading bodies: the method, the name of what is asked for, and the arguments
// a tool marks with x-mcp-header. They must equal the body.

// MirroredName is what Mcp-Name has to say: the tool's or prompt's name, or
// the resource's URI.
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

// Mirror says that an argument of a tool is repeated in the header
// Mcp-Param-<Header>.
type Mirror struct {
	Path   []string // of property names
	Header string
}

// Mirrors reads the x-mcp-header marks of a tool's input schema. A schema that
// breaks the rules for them has none: guessing would send an argument where it
// does not belong.
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

// marked is the part of a schema that can carry marks.
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

// HeaderName reports whether s can be the name of a header (RFC 9110, tchar).
func HeaderName(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// Value is the mirrored argument, nil if it is absent or null.
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

// HeaderValue writes a JSON string, whole number or boolean as a header value.
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

// SameValue compares a header with the JSON value it mirrors.
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

// whole: beyond 2^53 a number is not the same in every language.
func whole(f float64) bool { return f == math.Trunc(f) && math.Abs(f) <= 1<<53-1 }

const (
	encodedHead = "=?base64?"
	encodedTail = "?="
)

// EncodeHeader makes any text safe to stand in a header: what is not plain
// ASCII, or could be taken for an encoded value, is wrapped in base64. No line
// end ever gets through.
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

// DecodeHeader undoes EncodeHeader; ok is false for broken base64.
func DecodeHeader(value string) (text string, ok bool) {
	inner, head := strings.CutPrefix(value, encodedHead)
	inner, tail := strings.CutSuffix(inner, encodedTail)
	if !head || !tail {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(inner)
	return string(decoded), err == nil
}
