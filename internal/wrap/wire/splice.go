package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// AppendWithID appends the message with a different id and a newline. Every other
// byte is unchanged.
func (m *Message) AppendWithID(dst []byte, id []byte) []byte {
	dst = append(dst, m.Raw[:m.idAt]...)
	dst = append(dst, id...)
	dst = append(dst, m.Raw[m.idAt+len(m.ID):]...)
	return append(dst, '\n')
}

// AroundID returns the bytes before and after the id.
func (m *Message) AroundID() (before, after []byte) {
	return m.Raw[:m.idAt], m.Raw[m.idAt+len(m.ID):]
}

// AppendWithParam appends the message with old, which Field(m.Params, ...)
// returned, replaced by value, and a newline.
func (m *Message) AppendWithParam(dst []byte, old, value []byte) []byte {
	at := cap(m.Raw) - cap(old)
	dst = append(dst, m.Raw[:at]...)
	dst = append(dst, value...)
	dst = append(dst, m.Raw[at+len(old):]...)
	return append(dst, '\n')
}

// Field returns the raw value of one key of a JSON object that Scan returned, or
// nil if the value has no such key or is not an object. A duplicate key, or one
// that differs only in case or escapes, is an error: readers would disagree on it.
func Field(object []byte, key string) ([]byte, error) {
	var found [1][]byte
	err := Fields(object, found[:], key)
	return found[0], err
}

// Fields is Field for several keys in one pass.
func Fields(object []byte, values [][]byte, keys ...string) error {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return nil
	}
	i = skipSpace(object, i+1)
	if i < len(object) && object[i] == '}' {
		return nil
	}
	for {
		end, raw, err := scanKey(object, i)
		if err != nil {
			return err
		}
		from := skipSpace(object, end)
		if i, err = skipValue(object, from); err != nil {
			return err
		}
		for k, key := range keys {
			if string(raw) != key {
				if looksLike(raw, key) {
					return syntaxError(from, fmt.Sprintf("key %q differs from %q only in case or escapes", raw, key))
				}
				continue
			}
			if values[k] != nil {
				return syntaxError(from, fmt.Sprintf("duplicate key %q", key))
			}
			values[k] = object[from:i]
		}
		i = skipSpace(object, i)
		if i >= len(object) || object[i] != ',' {
			return nil
		}
		i++
	}
}

// LooseID returns the id of a text that is not a valid message, so that its sender
// gets a response: the value of the first key "id", if the text parses that far.
func LooseID(text []byte) []byte {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		end, key, err := scanKey(text, i)
		if err != nil {
			return nil
		}
		from := skipSpace(text, end)
		if i, err = skipValue(text, from); err != nil || i >= len(text) {
			return nil
		}
		if value := text[from:i]; string(key) == "id" && len(value) > 0 && utf8.Valid(value) {
			if end, err := scanValue(value, 0, nil); err == nil && end == len(value) && strings.IndexByte(`"-0123456789`, value[0]) >= 0 {
				return value
			}
			return nil
		}
		if i = skipSpace(text, i); i >= len(text) || text[i] != ',' {
			return nil
		}
	}
}

// skipValue returns the end of a value in text that was already validated, so only
// brackets and strings matter.
func skipValue(b []byte, i int) (int, error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i, nil
			}
			depth--
			i++
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i, nil
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i, nil
		}
	}
	if depth > 0 {
		return i, truncated(i)
	}
	return i, nil
}

func skipString(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		slashes := 0
		for b[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

func looksLike(raw []byte, key string) bool {
	if bytes.IndexByte(raw, '\\') >= 0 {
		var name string
		return json.Unmarshal([]byte(`"`+string(raw)+`"`), &name) == nil && strings.EqualFold(name, key)
	}
	return len(raw) <= len(key)+8 && strings.EqualFold(string(raw), key)
}

// Text decodes a raw JSON string; ok is false if raw is not a string.
func Text(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	return unescape(raw)
}

// unescape is Text for a string with escapes. It is apart because its result is allocated in any case.
func unescape(raw []byte) (s string, ok bool) {
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// Elements calls yield with every element of a raw JSON array, in order.
func Elements(array []byte, yield func([]byte)) error {
	i := skipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return syntaxError(i, "not an array")
	}
	i = skipSpace(array, i+1)
	if i < len(array) && array[i] == ']' {
		return nil
	}
	for {
		from := skipSpace(array, i)
		end, err := skipValue(array, from)
		if err != nil {
			return err
		}
		yield(array[from:end])
		i = skipSpace(array, end)
		if i >= len(array) || array[i] != ',' {
			return nil
		}
		i++
	}
}
