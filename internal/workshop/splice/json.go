package splice

import (
	"encoding/json"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// jsonReader reads JSON like JSON.parse; if lenient, it also accepts comments and
// trailing commas.
type jsonReader struct {
	scanner
	lenient bool
	spare   []node
}

func readJSON(text string, lenient bool) *node {
	r := jsonReader{scanner: scanner{text: text}, lenient: lenient}
	r.skip()
	if r.p == len(text) {
		return &node{kind: MapKind, absent: true, start: len(text), end: len(text)}
	}
	n := r.value(0)
	r.skip()
	if r.p < len(text) {
		r.fail("unexpected content after the end of the value", "a bracket may have been closed too early")
	}
	return n
}

func (r *jsonReader) skip() {
	for {
		r.p = skipWhite(r.text, r.p)
		if r.p+1 >= len(r.text) || r.text[r.p] != '/' || r.text[r.p+1] != '/' && r.text[r.p+1] != '*' {
			return
		}
		if !r.lenient {
			r.fail("JSON does not allow comments, and neither does the program that reads this file", "remove the comment")
		}
		end := skipComment(JSONC, r.text, r.p)
		if end == r.p {
			r.fail("this comment is not closed", "add */ at its end")
		}
		r.p = end
	}
}

func (r *jsonReader) value(depth int) *node {
	r.failIfDeep(depth)
	if len(r.spare) == 0 { // a file may have hundreds of thousands
		r.spare = make([]node, min(256, 1+(len(r.text)-r.p)/8))
	}
	n := &r.spare[0]
	r.spare, n.start = r.spare[1:], r.p
	switch c := r.peek(); {
	case c == '{' || c == '[':
		r.collection(n, depth)
	case c == '"':
		n.kind, n.text = StringKind, r.str()
	case c == '-' || c >= '0' && c <= '9':
		n.kind, n.text = NumberKind, r.number()
	case r.word("true") || r.word("false"):
		n.kind, n.truth = BoolKind, c == 't'
	case r.word("null"):
	case c == 0 && r.p >= len(r.text):
		r.fail("the file ends where a value is expected", "part of the file may be missing")
	case c == '\'':
		r.fail("this string is in single quotes", `use double quotes: "`)
	case c == ',' || c == '}' || c == ']':
		r.fail("a value is missing here", "add one, or remove the key and its comma")
	default:
		r.fail("this is not a value", `put strings in double quotes; other values are true, false, null and numbers`)
	}
	n.end = r.p
	return n
}

func (r *jsonReader) word(w string) bool {
	if !strings.HasPrefix(r.text[r.p:], w) {
		return false
	}
	r.p += len(w)
	return true
}

func (r *jsonReader) collection(n *node, depth int) {
	n.bracketed, n.kind = true, ListKind
	closing := byte(']')
	if r.peek() == '{' {
		n.kind, closing = MapKind, '}'
	}
	r.p++
	for r.skip(); r.peek() != closing; r.skip() {
		c := child{start: r.p}
		if n.kind == MapKind {
			r.key(&c)
		}
		c.node = r.value(depth + 1)
		n.children = append(n.children, c)
		r.skip()
		if r.peek() == closing {
			break
		}
		comma := r.p
		r.comma(closing)
		if r.skip(); r.peek() == closing && !r.lenient {
			r.failAt(comma, "there is a comma after the last entry", "remove the comma")
		}
	}
	r.p++
	if n.kind == MapKind {
		n.hide()
	}
}

// key reads a key and its colon.
func (r *jsonReader) key(c *child) {
	switch {
	case r.p == len(r.text):
		r.fail("the file ends before this { is closed", "add } at the end")
	case r.peek() == ',':
		r.fail("there is an extra comma", "remove it")
	case r.peek() != '"':
		r.fail("a double-quoted key is expected here", `use "key": value`)
	}
	c.name = r.str()
	c.keyEnd = r.p
	if r.skip(); r.peek() != ':' {
		r.fail("a colon is missing between the key and its value", `use "key": value`)
	}
	r.p++
	c.after = r.p
	r.skip()
}

// comma reads the comma between two entries.
func (r *jsonReader) comma(closing byte) {
	switch {
	case r.p == len(r.text):
		r.fail("the file ends before a bracket is closed", "add the missing "+string(closing)+" at the end")
	case r.peek() == ']' || r.peek() == '}':
		r.fail("this bracket does not match the opening one", "it should be "+string(closing))
	case r.peek() != ',':
		r.fail("a comma is missing before this", "add a comma after the previous entry")
	}
	r.p++
}

var jsonNumber = regex.New(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

func (r *jsonReader) number() string {
	start := r.p
	for r.p < len(r.text) && strings.IndexByte("+-.eE0123456789", r.text[r.p]) >= 0 {
		r.p++
	}
	text := r.text[start:r.p]
	switch digits := strings.TrimPrefix(text, "-"); {
	case jsonNumber.MatchString(text):
	case strings.HasPrefix(digits, "0") && strings.Trim(digits[1:2], "0123456789") == "":
		r.failAt(r.p-len(digits)+1, "a number cannot have a leading 0", "remove the 0, or put the number in quotes")
	default:
		r.failAt(start, "a digit is missing in this number", "")
	}
	return text
}

func (r *jsonReader) str() (text string) {
	start, escaped := r.p, false
	for r.p++; r.p < len(r.text); r.p++ {
		c := r.text[r.p]
		switch {
		case c > '"' && c != '\\': // the usual case
		case c == '"':
			r.p++
			if text = r.text[start+1 : r.p-1]; escaped && json.Unmarshal([]byte(r.text[start:r.p]), &text) != nil {
				r.failAt(start, `\u must be followed by four hexadecimal digits`, "")
			}
			return text
		case c == '\\' && r.p+1 < len(r.text) && strings.IndexByte(`"\/bfnrtu`, r.text[r.p+1]) >= 0:
			escaped = true
			r.p++
		case c == '\\':
			r.fail(`a backslash in a string must be escaped`, `use \\, as in "C:\\Users"`)
		case c == '\n' || c == '\r':
			r.fail("this string is not closed at the end of its line", `add " at its end; use \n for a newline inside a string`)
		case c < ' ':
			r.fail("this string contains a control character", `use \u00XX, or \t for a tab`)
		}
	}
	r.failAt(start, "this string is not closed", `add " at its end`)
	return ""
}
