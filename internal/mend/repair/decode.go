package repair

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a document. Larger ones are passed on unverified.
const (
	maxDepth  = 100     // nested containers
	maxValues = 100_000 // values in one document
	maxDigits = 400     // characters of a number; arithmetic on longer ones is too slow
	maxPower  = 400     // exponent of a number, for the same reason
)

// limitError reports that a document exceeds a limit. The document may still be valid.
type limitError string

func (t limitError) Error() string { return string(t) }

// document is decoded JSON, as the validator expects it: map[string]any, []any, string,
// json.Number, bool and nil.
type document struct {
	value any
	rank  map[string]int // position of each key in the text
	loose []string       // deviations from JSON, without duplicates
	twice string         // a key that occurs twice in one object
}

// decode reads strict JSON.
func decode(text string) (document, error) {
	r := reader{text: text}
	return r.read()
}

// decodeOnce is decode for JSON in which no key may occur twice.
func decodeOnce(text string) (document, error) {
	doc, err := decode(text)
	return doc, doc.unique(err)
}

// unique returns err, or an error if a key occurs twice.
func (d document) unique(err error) error {
	if err == nil && d.twice != "" {
		return fmt.Errorf("the key %s occurs twice", bounded(d.twice, 60))
	}
	return err
}

// reader reads JSON, and what is not quite JSON if it may (loose.go, damaged.go).
type reader struct {
	document
	text    string
	pos     int
	depth   int
	values  int
	loosely bool
	damaged bool     // read damaged text
	keys    []string // keys that damaged text may have
}

func (r *reader) read() (document, error) {
	r.rank = map[string]int{}
	value, err := r.value()
	if err == nil {
		err = r.end(value)
	}
	r.document.value = value
	return r.document, err
}

func (r *reader) fail(what string) error { return fmt.Errorf("%s at character %d", what, r.pos+1) }

func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *reader) space() {
	for r.pos < len(r.text) {
		if c := r.text[r.pos]; !isSpace(c) && !(r.loosely && (c == '/' || c == '#') && r.comment()) {
			return
		} else if isSpace(c) {
			r.pos++
		}
	}
}

// afterJSON is the error for text that continues after the JSON.
const afterJSON = "text after the JSON"

func (r *reader) end(value any) error {
	start := r.pos
	r.space()
	if strings.ContainsFunc(r.text[start:r.pos], unicode.IsLetter) { // a comment
		r.pos = start
		return r.fail(afterJSON)
	}
	if r.pos == len(r.text) || r.damaged && r.isJunk(value) && r.took(textAfterEnd) {
		return nil
	}
	return r.fail(afterJSON)
}

func (r *reader) value() (any, error) {
	if r.values++; r.values > maxValues {
		return nil, limitError(fmt.Sprintf("the arguments contain more than %d values", maxValues))
	}
	r.space()
	switch c := r.peek(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array(']')
	case c == '(' && r.took("a Python tuple"):
		return r.array(')')
	case c == '"', c == '\'' && r.took("single quotes"):
		return r.string(c)
	case c == '-', c >= '0' && c <= '9', c == '.' && r.loosely:
		return r.number()
	case c == 0 && r.pos >= len(r.text):
		return nil, r.fail("the JSON is incomplete")
	default:
		return r.word()
	}
}

var words = map[string]any{"true": true, "false": false, "null": nil}

func (r *reader) word() (any, error) {
	word := r.name()
	if value, ok := words[word]; ok {
		return value, nil
	}
	if value, ok := pythonWords[word]; ok && r.took("Python's "+word) {
		return value, nil
	}
	r.pos -= len(word)
	return nil, r.fail("a value is missing or not quoted")
}

// name reads letters, digits and underscores.
func (r *reader) name() string {
	start := r.pos
	for r.pos < len(r.text) && isNameByte(r.text[r.pos]) {
		r.pos++
	}
	return r.text[start:r.pos]
}

func isNameByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c == '-'
}

func (r *reader) object() (any, error) {
	object := map[string]any{}
	_, err := r.elements('}', func() error {
		key, err := r.key()
		if err != nil {
			return err
		}
		if r.space(); r.peek() != ':' {
			return r.fail("a colon is missing")
		}
		r.pos++
		value, err := r.value()
		if _, twice := object[key]; twice && err == nil {
			r.twice = key
		}
		object[key] = value
		return err
	})
	return object, err
}

func (r *reader) array(closing byte) (any, error) {
	array := []any{}
	comma, err := r.elements(closing, func() error {
		value, err := r.value()
		array = append(array, value)
		return err
	})
	if closing == ')' && len(array) == 1 && err == nil && !comma {
		return nil, r.fail("an expression in parentheses")
	}
	return array, err
}

// elements reads what is in a container, up to its end. comma means that a comma is before the end.
func (r *reader) elements(closing byte, element func() error) (comma bool, err error) {
	if r.depth++; r.depth > maxDepth {
		return false, limitError(fmt.Sprintf("the arguments are nested more than %d levels deep", maxDepth))
	}
	defer func() { r.depth-- }()
	r.pos++
	for first := true; ; first = false {
		r.space()
		if r.peek() == closing && (first || r.took("a trailing comma")) {
			r.pos++
			return !first, nil
		}
		if err := element(); err != nil {
			return false, err
		}
		if more, err := r.more(closing); err != nil || !more {
			return false, err
		}
	}
}

// more reads what follows an element: a comma or the closing bracket.
func (r *reader) more(closing byte) (bool, error) {
	r.space()
	switch c := r.peek(); {
	case c == ',':
		r.pos++
		return true, nil
	case c == closing:
		r.pos++
		return false, nil
	case r.loosely:
		return r.moreLoosely(closing)
	case r.pos >= len(r.text):
		return false, r.fail("the JSON is incomplete")
	}
	return false, r.fail("a comma or " + string(closing) + " is missing")
}

func (r *reader) key() (key string, err error) {
	if c := r.peek(); c == '"' || c == '\'' && r.took("single quotes") {
		key, err = r.string(c)
	} else {
		key, err = r.bareKey()
	}
	if _, known := r.rank[key]; !known && err == nil {
		r.rank[key] = len(r.rank)
	}
	return key, err
}

// string reads a quoted string. Without escapes it is a substring of the source.
func (r *reader) string(quote byte) (string, error) {
	r.pos++
	start := r.pos
	for i := start; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == quote:
			r.pos = i + 1
			if end, ok := r.lostQuote(start, i); ok {
				r.pos, i = end, end
			}
			return r.text[start:i], r.utf8(r.text[start:i])
		case c == '\\' || c < ' ':
			return r.escaped(quote, start, i)
		}
	}
	r.pos = len(r.text)
	return "", r.fail("a string is not closed")
}

func (r *reader) utf8(text string) error {
	if !utf8.ValidString(text) {
		return r.fail("a string is not valid UTF-8")
	}
	return nil
}

// escaped continues string at its first escape, at i.
func (r *reader) escaped(quote byte, start, i int) (string, error) {
	var b strings.Builder
	b.WriteString(r.text[start:i])
	for i < len(r.text) {
		c := r.text[i]
		r.pos = i
		switch {
		case c == quote:
			r.pos++
			return b.String(), r.utf8(b.String())
		case c < ' ' && !r.took("control characters in strings"):
			return "", r.fail("a control character in a string")
		case c != '\\':
			b.WriteByte(c)
			i++
		default:
			char, size := r.escape(r.text[i:])
			if size < 0 {
				return "", limitError("the arguments contain an unpaired surrogate, which servers decode differently")
			}
			if size == 0 {
				return "", r.fail("an invalid escape")
			}
			b.WriteRune(char)
			i += size
		}
	}
	r.pos = len(r.text)
	return "", r.fail("a string is not closed")
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape at the start of text. size is 0 if there is none and -1 if it is half of
// a surrogate pair.
func (r *reader) escape(text string) (char rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	if char, ok := escapes[text[1]]; ok {
		return char, 2
	}
	if text[1] != 'u' {
		return r.pythonEscape(text)
	}
	char, ok := hex(text, 2, 4)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(char):
		return char, 6
	}
	low, ok := hex(text, 8, 4)
	if char = utf16.DecodeRune(char, low); !ok || text[6:8] != `\u` || char == utf8.RuneError {
		return 0, -1
	}
	return char, 12
}

func hex(text string, from, digits int) (rune, bool) {
	if len(text) < from+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(text[from:from+digits], 16, 32)
	return rune(n), err == nil
}

func (r *reader) number() (any, error) {
	start := r.pos
	for r.pos < len(r.text) && strings.IndexByte("+-.0123456789eE", r.text[r.pos]) >= 0 {
		r.pos++
	}
	text := r.text[start:r.pos]
	if !isNumber(text) {
		if whole := completed(text); r.loosely && isNumber(whole) && r.took("Python's numbers") {
			return json.Number(whole), nil
		}
		r.pos = start
		return nil, r.fail("an invalid number")
	}
	if hugeNumber(text) {
		return nil, limitError("the arguments contain a number with more than " + strconv.Itoa(maxDigits) + " digits")
	}
	return json.Number(text), nil
}
