package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
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
func truncated(at int) error                  { return syntaxError(at, "unexpected end of JSON") }

// scanValue validates the JSON value that starts at or after b[i] and returns the
// index after it. Strings are not checked for valid UTF-8. isError, if not nil, is
// set if the value has a key of this name, at any depth.
func scanValue(b []byte, i int, isError *bool) (int, error) {
	var (
		nested   [MaxDepth/64 + 1]uint64 // one bit per level, set for objects
		depth    int
		isObject bool // the innermost level is an object
		name     []byte
		err      error
	)

value:
	if i = skipSpace(b, i); i >= len(b) {
		return i, truncated(i)
	}
	switch c := b[i]; c {
	case '"':
		i, err = scanString(b, i)
	case '{', '[':
		if depth == MaxDepth {
			return i, syntaxError(i, fmt.Sprintf("nested more than %d levels deep", MaxDepth))
		}
		if isObject = c == '{'; isObject {
			nested[depth/64] |= 1 << (depth % 64)
		} else {
			nested[depth/64] &^= 1 << (depth % 64)
		}
		depth++
		if i = skipSpace(b, i+1); i >= len(b) {
			return i, truncated(i)
		}
		switch {
		case b[i] == c+2: // '{'+2 is '}', '['+2 is ']'
			goto closed
		case isObject:
			goto key
		}
		goto value
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
	if i = skipSpace(b, i); i >= len(b) {
		return i, truncated(i)
	}
	switch c := b[i]; {
	case c == ',':
		i++
		if !isObject {
			goto value
		}
	case c == '}' && isObject, c == ']' && !isObject:
		goto closed
	default:
		return i, syntaxError(i, fmt.Sprintf("unexpected %q", rune(c)))
	}

key:
	if i, name, err = scanKey(b, i); err != nil {
		return i, err
	}
	if isError != nil && string(name) == "isError" {
		*isError = true
	}
	goto value

closed:
	i++
	if depth--; depth > 0 {
		isObject = nested[(depth-1)/64]&(1<<((depth-1)%64)) != 0
	}
	goto after
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
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// scanString reads the string whose opening quote is b[i].
func scanString(b []byte, i int) (int, error) {
	i++
	if i+8 <= len(b) { // most strings are names
		if found := special(binary.LittleEndian.Uint64(b[i:])); found != 0 {
			if end := i + bits.TrailingZeros64(found)/8; b[end] == '"' {
				return end + 1, nil
			}
		}
	}
	for {
		if i = plainEnd(b, i); i == len(b) {
			return i, truncated(i)
		}
		if b[i] == '"' {
			return i + 1, nil
		}
		end, err := scanEscape(b, i)
		if err != nil {
			if bytes.IndexByte(b[i:], '"') < 0 {
				return len(b), truncated(len(b)) // whatever else is wrong with it
			}
			return end, err
		}
		i = end
	}
}

// plainEnd returns the index of the first quote, backslash or control character at
// or after b[i], or len(b). Payloads are mostly strings, so this dominates the cost
// of a message. Up to shortPiece bytes, as most names and pieces between escapes
// are, it takes a word at a time; then it uses IndexByte, which is vectorised.
func plainEnd(b []byte, i int) int {
	for short := i + shortPiece; i < short && i+8 <= len(b); i += 8 {
		if found := special(binary.LittleEndian.Uint64(b[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for len(b)-i >= 8 {
		piece := b[i:min(len(b), i+longPiece)]
		end := len(piece)
		if n := bytes.IndexByte(piece, '"'); n >= 0 {
			end = n
		}
		if n := bytes.IndexByte(piece[:end], '\\'); n >= 0 {
			end = n
		}
		if n := control(piece[:end]); n >= 0 {
			end = n
		}
		if i += end; end < len(piece) {
			return i
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

const (
	shortPiece = 64
	longPiece  = 1024
)

const ones, highs = 0x0101010101010101, 0x8080808080808080

// special returns a word in which the lowest bit that is set is in the first byte
// of w that is a quote, a backslash or a control character, or 0.
func special(w uint64) uint64 {
	quote, backslash := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// control returns the index of the first control character, or -1.
func control(b []byte) int {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		v := b[i : i+32 : i+32]
		w0, w1 := binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])
		w2, w3 := binary.LittleEndian.Uint64(v[16:]), binary.LittleEndian.Uint64(v[24:])
		if ((w0-ones*' ')&^w0|(w1-ones*' ')&^w1|(w2-ones*' ')&^w2|(w3-ones*' ')&^w3)&highs != 0 {
			break // the loop below finds which byte it is, if any
		}
	}
	for ; i < len(b); i++ {
		if b[i] < ' ' {
			return i
		}
	}
	return -1
}

// scanEscape reads the escape whose backslash is b[i].
func scanEscape(b []byte, i int) (int, error) {
	if b[i] != '\\' {
		return i, syntaxError(i, "unescaped control character in a string")
	}
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
	if b[i] == '-' {
		i++
	}
	from := i
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i == from {
		return i, syntaxError(i, "invalid number")
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = skipDigits(b, from); i == from {
			return i, syntaxError(i, "invalid number")
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = skipDigits(b, from); i == from {
			return i, syntaxError(i, "invalid number")
		}
	}
	return i, nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
