package splice

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON like JSON.parse; if lenient, it also accepts comments and
// trailing commas.
type jsonReader struct {
	scanner
	lenient bool
	open    []child // entries of collections that are still open
	spare   []node
}

// node allocates nodes in batches: a file may have hundreds of thousands.
func (r *jsonReader) node() *node {
	if len(r.spare) == 0 {
		r.spare = make([]node, min(256, 1+(len(r.text)-r.p)/8))
	}
	n := &r.spare[0]
	r.spare = r.spare[1:]
	return n
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
		r.fail("unexpected content after the end of the value", "a bracket may be closed too early")
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
		end := skipComment(r.text, r.p)
		if end < 0 {
			r.fail("this comment is not closed", "add */ at its end")
		}
		r.p = end
	}
}

// skipComment returns the end of the // or /* comment at p, or -1 if it has none.
func skipComment(text string, p int) int {
	if text[p+1] == '/' {
		if end := strings.IndexAny(text[p:], "\r\n"); end >= 0 {
			return p + end
		}
		return len(text)
	}
	end := strings.Index(text[p+2:], "*/")
	if end < 0 {
		return -1
	}
	return p + 2 + end + 2
}

func (r *jsonReader) value(depth int) *node {
	r.failIfDeep(depth)
	n := r.node()
	n.start = r.p
	switch c := r.peek(); {
	case c == '{' || c == '[':
		r.collection(n, depth)
	case c == '"':
		n.kind, n.text = StringKind, r.str()
	case c == '-' || c >= '0' && c <= '9':
		n.kind, n.text = NumberKind, r.number()
	case r.word("true"):
		n.kind, n.truth = BoolKind, true
	case r.word("false"):
		n.kind = BoolKind
	case r.word("null"):
		n.kind = NullKind
	case c == 0 && r.p >= len(r.text):
		r.fail("the file ends where a value is expected", "part of the file may be missing")
	case c == '\'':
		r.fail("this string is in single quotes", `use double quotes: "`)
	case c == ',' || c == '}' || c == ']':
		r.fail("a value is missing here", "add one, or remove the key and its comma")
	default:
		r.fail("this is not a value", `strings need double quotes; other values are true, false, null and numbers`)
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
	mine := len(r.open)
	for {
		r.skip()
		if r.peek() == closing {
			if !r.lenient && len(r.open) > mine {
				r.p = strings.LastIndexByte(r.text[:r.p], ',')
				r.fail("there is a comma after the last entry", "remove the comma")
			}
			break
		}
		c := child{start: r.p}
		if n.kind == MapKind {
			if r.peek() != '"' {
				switch {
				case r.p == len(r.text):
					r.fail("the file ends before this { is closed", "add } at the end")
				case r.peek() == ',':
					r.fail("there is an extra comma", "remove it")
				}
				r.fail("a key in double quotes is expected here", `write "key": value`)
			}
			c.name = r.str()
			c.keyEnd = r.p
			r.skip()
			if r.peek() != ':' {
				r.fail("a colon is missing between the key and its value", `write "key": value`)
			}
			r.p++
			c.after = r.p
			r.skip()
		}
		c.node = r.value(depth + 1)
		r.open = append(r.open, c)
		r.skip()
		if r.peek() == closing {
			break
		}
		if r.peek() != ',' {
			switch {
			case r.p == len(r.text):
				r.fail("the file ends before a bracket is closed", "add the missing "+string(closing)+" at the end")
			case r.peek() == ']' || r.peek() == '}':
				r.fail("this bracket does not match the one that was opened", "it should be "+string(closing))
			}
			r.fail("a comma is missing before this", "add a comma after the previous entry")
		}
		r.p++
	}
	r.p++
	n.children = slices.Clone(r.open[mine:])
	r.open = r.open[:mine]
	if n.kind == MapKind {
		n.hide()
	}
}

func (r *jsonReader) number() string {
	start := r.p
	digits := func() {
		from := r.p
		for r.p < len(r.text) && r.text[r.p] >= '0' && r.text[r.p] <= '9' {
			r.p++
		}
		if r.p == from {
			r.fail("a digit is missing in this number", "")
		}
	}
	if r.peek() == '-' {
		r.p++
	}
	if r.peek() == '0' {
		r.p++
		if c := r.peek(); c >= '0' && c <= '9' {
			r.fail("a number cannot have a leading 0", "remove the 0, or put the number in quotes")
		}
	} else {
		digits()
	}
	if r.peek() == '.' {
		r.p++
		digits()
	}
	if r.peek() == 'e' || r.peek() == 'E' {
		r.p++
		if r.peek() == '+' || r.peek() == '-' {
			r.p++
		}
		digits()
	}
	return r.text[start:r.p]
}

func (r *jsonReader) str() string {
	start := r.p
	r.p++
	from := r.p
	for r.p < len(r.text) && r.text[r.p] != '"' && r.text[r.p] != '\\' && r.text[r.p] >= ' ' {
		r.p++
	}
	if r.peek() == '"' && r.p < len(r.text) {
		r.p++
		return r.text[from : r.p-1]
	}
	out := []byte(r.text[from:r.p])
	for {
		if r.p >= len(r.text) {
			r.p = start
			r.fail("this string is not closed", `add " at its end`)
		}
		c := r.text[r.p]
		r.p++
		switch {
		case c == '"':
			return string(out)
		case c < ' ':
			r.p--
			if c == '\n' || c == '\r' {
				r.fail("this string is not closed at the end of its line", `add " at its end; write a newline inside a string as \n`)
			}
			r.fail("this string contains a control character", `write it as \u00XX; write a tab as \t`)
		case c == '\\':
			out = r.escape(out)
		default:
			out = append(out, c)
		}
	}
}

func (r *jsonReader) escape(out []byte) []byte {
	const plain, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := r.peek()
	if i := strings.IndexByte(plain, c); i >= 0 && c != 0 {
		r.p++
		return append(out, meant[i])
	}
	if c != 'u' {
		r.p--
		r.fail(`a backslash in a string must be escaped`, `write \\, as in "C:\\Users"`)
	}
	r.p++
	unit := r.hex()
	if utf16.IsSurrogate(unit) && strings.HasPrefix(r.text[r.p:], `\u`) {
		back := r.p
		r.p += 2
		if both := utf16.DecodeRune(unit, r.hex()); both != utf8.RuneError {
			return utf8.AppendRune(out, both)
		}
		r.p = back
	}
	if utf16.IsSurrogate(unit) {
		// A lone surrogate. JavaScript keeps it, and so do we, in bytes that are
		// not valid UTF-8 and so equal no other string.
		return append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F)
	}
	return utf8.AppendRune(out, unit)
}

func (r *jsonReader) hex() rune {
	end := min(r.p+4, len(r.text))
	v, ok := hexRune(r.text[r.p:end])
	if !ok || end != r.p+4 {
		r.fail(`\u must be followed by four hexadecimal digits`, "")
	}
	r.p = end
	return v
}

var jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
