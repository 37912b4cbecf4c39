package splice

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON as JSON.parse does; lenient also takes comments and
// trailing commas.
type jsonReader struct {
	text    string
	p       int
	lenient bool
	open    []child // entries of collections that are not closed yet
	spare   []node
}

// node makes nodes by the hundred: a file may have hundreds of thousands.
func (r *jsonReader) node() *node {
	if len(r.spare) == 0 {
		r.spare = make([]node, min(256, 1+(len(r.text)-r.p)/8))
	}
	n := &r.spare[0]
	r.spare = r.spare[1:]
	return n
}

func readJSON(text string, lenient bool) *node {
	r := jsonReader{text: text, lenient: lenient}
	r.skip()
	if r.p == len(text) {
		return &node{kind: MapKind, absent: true, start: len(text), end: len(text)}
	}
	n := r.value(0)
	r.skip()
	if r.p < len(text) {
		r.fail("there is more behind the end of the value", "a bracket may be closed too early")
	}
	return n
}

func (r *jsonReader) fail(what, hint string) { panic(stopped{r.p, what, hint}) }

func (r *jsonReader) skip() {
	for {
		r.p = skipWhite(r.text, r.p)
		if r.p+1 >= len(r.text) || r.text[r.p] != '/' || r.text[r.p+1] != '/' && r.text[r.p+1] != '*' {
			return
		}
		if !r.lenient {
			r.fail("JSON has no comments, and the program that reads this file takes none", "remove the comment")
		}
		end := skipComment(r.text, r.p)
		if end < 0 {
			r.fail("this comment is not closed", "put */ at its end")
		}
		r.p = end
	}
}

// skipComment is the end of the // or /* comment at p, or -1.
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

func (r *jsonReader) peek() byte {
	if r.p < len(r.text) {
		return r.text[r.p]
	}
	return 0
}

func (r *jsonReader) value(depth int) *node {
	if depth > maxDepth {
		r.fail("values are nested more than 200 deep", "")
	}
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
		r.fail("the file ends where a value should be", "part of it may be missing")
	case c == '\'':
		r.fail("a text begins with a single quote", `use double quotes: "`)
	case c == ',' || c == '}' || c == ']':
		r.fail("there is no value here", "write one, or remove the name and its comma")
	default:
		r.fail("this is not a value", `texts need double quotes; else true, false, null or a number`)
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
				r.fail("there is a comma behind the last entry", "remove the comma")
			}
			break
		}
		c := child{start: r.p}
		if n.kind == MapKind {
			if r.peek() != '"' {
				switch {
				case r.p == len(r.text):
					r.fail("the file ends before this { is closed", "put } at its end")
				case r.peek() == ',':
					r.fail("there is one comma too many", "remove it")
				}
				r.fail("a name in double quotes should be here", `write "name": value`)
			}
			c.name = r.str()
			c.keyEnd = r.p
			r.skip()
			if r.peek() != ':' {
				r.fail("a colon should be between a name and its value", `write "name": value`)
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
				r.fail("the file ends before a bracket is closed", "put the missing "+string(closing)+" at its end")
			case r.peek() == ']' || r.peek() == '}':
				r.fail("this bracket closes another one than was opened", "it should be "+string(closing))
			}
			r.fail("a comma is missing before this", "put , behind the entry before it")
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
			r.fail("a number cannot begin with 0", "remove the 0, or put the number in quotes")
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
			r.fail("this text is not closed", `put " at its end`)
		}
		c := r.text[r.p]
		r.p++
		switch {
		case c == '"':
			return string(out)
		case c < ' ':
			r.p--
			if c == '\n' || c == '\r' {
				r.fail("this text is not closed at the end of its line", `put " at its end; a line end inside of a text is \n`)
			}
			r.fail("there is a control character in this text", `write it as \u00..; a tab is \t`)
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
		r.fail(`a backslash in a text needs another one`, `write \\, as in "C:\\Users"`)
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
		// Half a character: JavaScript keeps it. So do we, in bytes that are
		// no UTF-8, so that it equals nothing but itself.
		return append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F)
	}
	return utf8.AppendRune(out, unit)
}

func (r *jsonReader) hex() rune {
	var v rune
	for range 4 {
		c := r.peek()
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			r.fail(`four hexadecimal digits should follow \u`, "")
		}
		r.p++
	}
	return v
}

var jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
