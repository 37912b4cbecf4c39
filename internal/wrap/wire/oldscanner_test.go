package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// This file is the scanner as it was before it was made fast. Scan must accept and reject the same
// lines, with the same errors: see compareWithOldScanner.

var refKeys = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func refEnvelope(line []byte) (m Message, end int, err error) {
	i := refSpace(line, 0)
	if i >= len(line) {
		return m, i, truncated(i)
	}
	if line[i] != '{' {
		return m, i, syntaxError(i, "not a JSON object")
	}
	var seen [len(refKeys)]bool
	i = refSpace(line, i+1)
	if i < len(line) && line[i] == '}' {
		i++
		m.Raw = line[:i]
		return m, i, syntaxError(i, "an empty object is not a message")
	}
	for {
		var key []byte
		if i, key, err = refKey(line, i); err != nil {
			return m, i, err
		}
		which, err := refEnvelopeKey(key)
		if err != nil {
			return m, i, syntaxError(i, err.Error())
		}
		from := refSpace(line, i)
		if i, err = refValue(line, from); err != nil {
			return m, i, err
		}
		value := line[from:i]
		if which >= 0 {
			if seen[which] {
				return m, from, syntaxError(from, fmt.Sprintf("duplicate key %q", refKeys[which]))
			}
			seen[which] = true
			switch refKeys[which] {
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
				if m.Method, err = refMethodName(value); err != nil {
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
		i = refSpace(line, i)
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

// refEnvelopeKey returns the index of key in refKeys, or -1 for an unknown key.
// A key that differs from a known one only in case or escapes is an error:
// encoding/json and others read it as the known one.
func refEnvelopeKey(key []byte) (int, error) {
	for i, known := range refKeys {
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
		for _, known := range refKeys {
			if strings.EqualFold(name, known) {
				return -1, fmt.Errorf("key %q must not contain escape sequences", known)
			}
		}
		return -1, nil
	}
	for _, known := range refKeys {
		if strings.EqualFold(name, known) {
			return -1, fmt.Errorf("key %q differs from %q only in case", name, known)
		}
	}
	return -1, nil
}

// refMethodName decodes a method. It does not allocate for known methods.
func refMethodName(raw []byte) (string, error) {
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

// refValue validates the JSON value that starts at or after b[i] and returns the
// index after it. Strings are not checked for valid UTF-8.
func refValue(b []byte, i int) (int, error) {
	var (
		nested [MaxDepth/64 + 1]uint64 // one bit per level, set for objects
		depth  int
		err    error
	)
	isObject := func() bool { return nested[(depth-1)/64]&(1<<((depth-1)%64)) != 0 }

value:
	i = refSpace(b, i)
	if i >= len(b) {
		return i, truncated(i)
	}
	switch c := b[i]; c {
	case '{', '[':
		if depth == MaxDepth {
			return i, syntaxError(i, fmt.Sprintf("nested more than %d levels deep", MaxDepth))
		}
		if c == '{' {
			nested[depth/64] |= 1 << (depth % 64)
		} else {
			nested[depth/64] &^= 1 << (depth % 64)
		}
		depth++
		i = refSpace(b, i+1)
		if i >= len(b) {
			return i, truncated(i)
		}
		if b[i] == c+2 { // '{'+2 is '}', '['+2 is ']'
			i++
			depth--
			goto after
		}
		if c == '{' {
			goto key
		}
		goto value
	case '"':
		if i, err = refString(b, i); err != nil {
			return i, err
		}
	case 't':
		i, err = refWord(b, i, "true")
	case 'f':
		i, err = refWord(b, i, "false")
	case 'n':
		i, err = refWord(b, i, "null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return i, syntaxError(i, fmt.Sprintf("unexpected %q", rune(c)))
		}
		i, err = refNumber(b, i)
	}
	if err != nil {
		return i, err
	}

after:
	if depth == 0 {
		return i, nil
	}
	i = refSpace(b, i)
	if i >= len(b) {
		return i, truncated(i)
	}
	switch c := b[i]; {
	case c == ',' && isObject():
		i++
		goto key
	case c == ',':
		i++
		goto value
	case c == '}' && isObject(), c == ']' && !isObject():
		i++
		depth--
		goto after
	default:
		return i, syntaxError(i, fmt.Sprintf("unexpected %q", rune(c)))
	}

key:
	if i, _, err = refKey(b, i); err != nil {
		return i, err
	}
	goto value
}

// refKey reads `"key" :` and returns the index after the colon and the raw key
// without its quotes.
func refKey(b []byte, i int) (int, []byte, error) {
	i = refSpace(b, i)
	if i >= len(b) {
		return i, nil, truncated(i)
	}
	if b[i] != '"' {
		return i, nil, syntaxError(i, "expected a key")
	}
	end, err := refString(b, i)
	if err != nil {
		return end, nil, err
	}
	key := b[i+1 : end-1]
	i = refSpace(b, end)
	if i >= len(b) {
		return i, nil, truncated(i)
	}
	if b[i] != ':' {
		return i, nil, syntaxError(i, "expected ':' after a key")
	}
	return i + 1, key, nil
}

func refSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// refString reads the string whose opening quote is b[i]. Payloads are mostly
// strings, so this dominates the cost of a message: IndexByte finds quotes and
// backslashes, and control checks eight bytes at a time.
func refString(b []byte, i int) (int, error) {
	i++
	quote := -1
	for {
		if quote < i {
			n := bytes.IndexByte(b[i:], '"')
			if n < 0 {
				return len(b), truncated(len(b))
			}
			quote = i + n
		}
		end, escaped := quote, false
		if n := bytes.IndexByte(b[i:quote], '\\'); n >= 0 {
			end, escaped = i+n, true
		}
		if at := refControl(b[i:end]); at >= 0 {
			return i + at, syntaxError(i+at, "unescaped control character in a string")
		}
		if !escaped {
			return end + 1, nil
		}
		var err error
		if i, err = refEscape(b, end); err != nil {
			return i, err
		}
	}
}

// control returns the index of the first control character, or -1.
func refControl(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+32 <= len(b); i += 32 {
		v := b[i : i+32 : i+32]
		w0, w1 := binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])
		w2, w3 := binary.LittleEndian.Uint64(v[16:]), binary.LittleEndian.Uint64(v[24:])
		if ((w0-ones*0x20)&^w0|(w1-ones*0x20)&^w1|(w2-ones*0x20)&^w2|(w3-ones*0x20)&^w3)&highs != 0 {
			break // the loop below finds which byte it is, if any
		}
	}
	for ; i < len(b); i++ {
		if b[i] < 0x20 {
			return i
		}
	}
	return -1
}

// refEscape reads the escape whose backslash is b[i].
func refEscape(b []byte, i int) (int, error) {
	if i+1 >= len(b) {
		return i, truncated(i)
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) {
				return k, truncated(k)
			}
			if !refHex(b[k]) {
				return k, syntaxError(k, "invalid \\u escape")
			}
		}
		return i + 6, nil
	}
	return i, syntaxError(i, "invalid escape in a string")
}

func refHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func refWord(b []byte, i int, word string) (int, error) {
	end := i + len(word)
	if end > len(b) {
		return i, truncated(len(b))
	}
	if string(b[i:end]) != word {
		return i, syntaxError(i, "invalid literal")
	}
	return end, nil
}

func refNumber(b []byte, i int) (int, error) {
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, syntaxError(i, "invalid number")
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return i, syntaxError(i, "invalid number")
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, syntaxError(i, "invalid number")
		}
	}
	return i, nil
}
