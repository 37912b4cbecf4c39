package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// MaxDepth is the maximum nesting of a payload. The scanner itself does not
// recurse; the limit protects the programs that read the message after us.
const MaxDepth = 1000

// SyntaxError reports what is wrong with a text and where.
type SyntaxError struct {
	Reason string
	At     int
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.At) }

func syntaxError(at int, reason string) error { return &SyntaxError{Reason: reason, At: at} }
func truncated(at int) error                  { return syntaxError(at, "unexpected end inside a value") }

// scanValue validates the JSON value that starts at or after b[i] and returns the
// index after it. Strings are not checked for valid UTF-8.
func scanValue(b []byte, i int) (int, error) {
	var (
		nested [MaxDepth/64 + 1]uint64 // one bit per level, set for objects
		depth  int
		err    error
	)
	isObject := func() bool { return nested[(depth-1)/64]&(1<<((depth-1)%64)) != 0 }

value:
	i = skipSpace(b, i)
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
		i = skipSpace(b, i+1)
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
		if i, err = scanString(b, i); err != nil {
			return i, err
		}
	case 't':
		i, err = scanWord(b, i, "true")
	case 'f':
		i, err = scanWord(b, i, "false")
	case 'n':
		i, err = scanWord(b, i, "null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return i, syntaxError(i, fmt.Sprintf("unexpected %q", rune(c)))
		}
		i, err = scanNumber(b, i)
	}
	if err != nil {
		return i, err
	}

after:
	if depth == 0 {
		return i, nil
	}
	i = skipSpace(b, i)
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
	if i, _, err = scanKey(b, i); err != nil {
		return i, err
	}
	goto value
}

// scanKey reads `"key" :` and returns the index after the colon and the raw key
// without its quotes.
func scanKey(b []byte, i int) (int, []byte, error) {
	i = skipSpace(b, i)
	if i >= len(b) {
		return i, nil, truncated(i)
	}
	if b[i] != '"' {
		return i, nil, syntaxError(i, "expected a key")
	}
	end, err := scanString(b, i)
	if err != nil {
		return end, nil, err
	}
	key := b[i+1 : end-1]
	i = skipSpace(b, end)
	if i >= len(b) {
		return i, nil, truncated(i)
	}
	if b[i] != ':' {
		return i, nil, syntaxError(i, "expected ':' after a key")
	}
	return i + 1, key, nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// scanString reads the string whose opening quote is b[i]. Payloads are mostly
// strings, so this dominates the cost of a message: IndexByte finds quotes and
// backslashes, and control checks eight bytes at a time.
func scanString(b []byte, i int) (int, error) {
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
		if at := control(b[i:end]); at >= 0 {
			return i + at, syntaxError(i+at, "unescaped control character in a string")
		}
		if !escaped {
			return end + 1, nil
		}
		var err error
		if i, err = scanEscape(b, end); err != nil {
			return i, err
		}
	}
}

// control returns the index of the first control character, or -1.
func control(b []byte) int {
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

// scanEscape reads the escape whose backslash is b[i].
func scanEscape(b []byte, i int) (int, error) {
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
			if !isHex(b[k]) {
				return k, syntaxError(k, "invalid \\u escape")
			}
		}
		return i + 6, nil
	}
	return i, syntaxError(i, "invalid escape in a string")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func scanWord(b []byte, i int, word string) (int, error) {
	end := i + len(word)
	if end > len(b) {
		return i, truncated(len(b))
	}
	if string(b[i:end]) != word {
		return i, syntaxError(i, "invalid literal")
	}
	return end, nil
}

func scanNumber(b []byte, i int) (int, error) {
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
