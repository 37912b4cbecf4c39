package splice

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tableOrigin is what created a TOML table. It decides what may extend the table.
type tableOrigin uint8

const (
	originImplied tableOrigin = iota // by the header of a table inside it
	originHeader                     // [it]
	originDotted                     // it.key = value
)

// block is a header and the lines below it. The first block of a file has no
// header.
type block struct {
	start, end int // of the header, including its brackets
	array      bool
	keys       []key
	chain      []*node // every table and list on the path of the header
	node       *node
	entries    []entry
}

// entry is one key = value line.
type entry struct {
	start, end int
	keys       []key
	chain      []*node
}

// key is one part of a dotted key.
type key struct {
	start, end int
	name       string
	parent     *node // the table that has the key
}

type tomlReader struct {
	scanner
	root   *node
	blocks []block
}

func readTOML(text string) (*node, []block) {
	r := tomlReader{scanner: scanner{text: text}, root: &node{kind: MapKind, scattered: true, origin: originHeader}}
	r.root.absent = true
	r.blocks = []block{{node: r.root, chain: []*node{r.root}}}
	for {
		r.blank()
		if r.p >= len(text) {
			break
		}
		r.root.absent = false
		if text[r.p] == '[' {
			r.header()
		} else {
			r.entry()
		}
		r.p = skipSpace(text, r.p)
		r.comment()
		if r.p < len(text) && !endsLine(text, r.p) {
			r.fail("unexpected content after the entry", "put each entry on a line of its own")
		}
	}
	r.root.end = len(text)
	return r.root, r.blocks
}

// blank skips white space, newlines and comments.
func (r *tomlReader) blank() {
	for {
		r.p = skipSpace(r.text, r.p)
		r.comment()
		if r.p >= len(r.text) || !endsLine(r.text, r.p) {
			return
		}
		r.p = nextLine(r.text, r.p)
	}
}

func (r *tomlReader) comment() {
	if r.peek() != '#' {
		return
	}
	end := lineEnd(r.text, r.p)
	for ; r.p < end; r.p++ {
		if c := r.text[r.p]; c < ' ' && c != '\t' || c == 0x7f {
			r.fail("this comment contains a control character", "remove it")
		}
	}
}

// keys reads a dotted key and leaves the parents to the caller.
func (r *tomlReader) keys() []key {
	var keys []key
	for {
		r.p = skipSpace(r.text, r.p)
		k := key{start: r.p}
		switch c := r.peek(); {
		case c == '"' || c == '\'':
			if strings.HasPrefix(r.text[r.p:], strings.Repeat(string(c), 3)) {
				r.fail("a key cannot be a multi-line string", "")
			}
			k.name = r.str().text
		default:
			for r.p < len(r.text) && isBare(r.text[r.p]) {
				r.p++
			}
			k.name = r.text[k.start:r.p]
			if k.name == "" {
				r.fail("a key is expected here", `write key = value; a key with characters other than letters, digits, - and _ needs quotes`)
			}
		}
		k.end = r.p
		keys = append(keys, k)
		r.failIfDeep(len(keys))
		next := skipSpace(r.text, r.p)
		if next >= len(r.text) || r.text[next] != '.' {
			return keys
		}
		r.p = next + 1
	}
}

func isBare(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
}

func (n *node) add(c child) {
	if n.index == nil {
		n.index = map[string]int{}
	}
	n.index[c.name] = len(n.children)
	n.children = append(n.children, c)
}

func (r *tomlReader) header() {
	b := block{start: r.p}
	r.p++
	if r.peek() == '[' {
		b.array = true
		r.p++
	}
	b.keys = r.keys()
	r.p = skipSpace(r.text, r.p)
	closing := "]"
	if b.array {
		closing = "]]"
	}
	if !strings.HasPrefix(r.text[r.p:], closing) {
		r.fail("this header is not closed", "add "+closing+" at its end")
	}
	r.p += len(closing)
	b.end = r.p

	table := r.root
	b.chain = append(b.chain, table)
	for i := range b.keys {
		k := &b.keys[i]
		k.parent = table
		last := i == len(b.keys)-1
		c := table.find(k.name)
		if c == nil {
			made := &node{kind: MapKind, scattered: true, start: b.start, end: b.end, homeBlock: -1}
			if last && b.array {
				made.kind = ListKind
			}
			table.add(child{name: k.name, start: k.start, keyEnd: k.end, after: b.end, node: made})
			c = table.find(k.name)
		} else if last && (b.array || c.node.origin != originImplied || c.node.kind != MapKind || !c.node.scattered) &&
			!(b.array && c.node.kind == ListKind && c.node.scattered) || !c.node.scattered {
			r.failDuplicate(k.start, k.name)
		}
		table = c.node
		b.chain = append(b.chain, table)
		switch {
		case last && b.array:
			item := &node{kind: MapKind, scattered: true, origin: originHeader, start: b.start, end: b.end}
			table.children = append(table.children, child{start: b.start, after: b.end, node: item})
			table = item
			b.chain = append(b.chain, table)
		case last:
			table.origin, table.start, table.end = originHeader, b.start, b.end
		case table.kind == ListKind:
			table = table.children[len(table.children)-1].node
			b.chain = append(b.chain, table)
		}
	}
	b.node = table
	r.blocks = append(r.blocks, b)
}

func (r *tomlReader) entry() {
	b := &r.blocks[len(r.blocks)-1]
	b.entries = append(b.entries, r.assign(b.node, len(r.blocks)-1, len(b.keys)))
}

// assign reads key = value into a table.
func (r *tomlReader) assign(table *node, home, depth int) entry {
	e := entry{start: r.p}
	e.keys = r.keys()
	for i := range e.keys {
		k := &e.keys[i]
		k.parent = table
		c := table.find(k.name)
		if i == len(e.keys)-1 {
			if c != nil {
				r.failDuplicate(k.start, k.name)
			}
			break
		}
		if c == nil {
			made := &node{kind: MapKind, scattered: true, origin: originDotted, homeBlock: int32(home), start: e.start, end: e.start}
			table.add(child{name: k.name, start: e.start, keyEnd: k.end, after: k.end, node: made})
			c = table.find(k.name)
		} else if c.node.kind != MapKind || !c.node.scattered || c.node.origin != originDotted || c.node.homeBlock != int32(home) {
			r.failDuplicate(k.start, k.name)
		}
		table = c.node
		e.chain = append(e.chain, table)
	}
	last := e.keys[len(e.keys)-1]
	r.p = skipSpace(r.text, r.p)
	if r.peek() != '=' {
		r.fail("an = is missing between the key and its value", "write key = value")
	}
	r.p++
	c := child{name: last.name, start: e.start, keyEnd: last.end, after: r.p}
	r.p = skipSpace(r.text, r.p)
	c.node = r.value(depth + len(e.keys))
	table.add(c)
	e.chain = append(e.chain, c.node)
	e.end = r.p
	return e
}

var (
	tomlNumber = regexp.MustCompile(`^(?:[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?|0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*|[+-]?(?:inf|nan))$`)
	tomlTime   = regexp.MustCompile(`^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?)?|[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)$`)
	dateOnly   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

func (r *tomlReader) value(depth int) *node {
	r.failIfDeep(depth)
	switch r.peek() {
	case '"', '\'':
		return r.str()
	case '[':
		return r.array(depth)
	case '{':
		return r.inline(depth)
	}
	n := &node{start: r.p}
	word := func() {
		for r.p < len(r.text) && (isBare(r.text[r.p]) || strings.IndexByte("+.:", r.text[r.p]) >= 0) {
			r.p++
		}
	}
	word()
	if r.p-n.start == len("2006-01-02") && dateOnly.MatchString(r.text[n.start:r.p]) && r.p+1 < len(r.text) && r.text[r.p] == ' ' && r.text[r.p+1] >= '0' && r.text[r.p+1] <= '9' {
		r.p++
		word()
	}
	n.end, n.text = r.p, r.text[n.start:r.p]
	switch {
	case n.text == "true" || n.text == "false":
		n.kind, n.truth, n.text = BoolKind, n.text == "true", ""
	case digitsOnly(n.text) && (n.text[0] != '0' || n.text == "0"), tomlNumber.MatchString(n.text):
		n.kind = NumberKind
		if tooLarge(n.text) {
			r.p = n.start
			r.fail("this number is larger than 64 bits", "put it in quotes")
		}
	case tomlTime.MatchString(n.text):
		n.kind = TimeKind
		if !validTime(n.text) {
			r.p = n.start
			r.fail("this date or time does not exist", "correct it, or put it in quotes")
		}
	default:
		r.p = n.start
		r.fail("this is not a value", `strings need quotes; other values are true, false, numbers, dates, [array] and {table}`)
	}
	return n
}

func (r *tomlReader) array(depth int) *node {
	n := &node{kind: ListKind, start: r.p, bracketed: true}
	r.p++
	for {
		r.blank()
		if r.peek() == ']' {
			break
		}
		if r.p >= len(r.text) {
			r.p = n.start
			r.fail("this array is not closed", "add ] at its end")
		}
		c := child{start: r.p}
		c.node = r.value(depth + 1)
		n.children = append(n.children, c)
		r.blank()
		if r.peek() == ']' {
			break
		}
		if r.peek() != ',' {
			r.fail("a comma or ] is expected here", "")
		}
		r.p++
	}
	r.p++
	n.end = r.p
	return n
}

func (r *tomlReader) inline(depth int) *node {
	n := &node{kind: MapKind, start: r.p, bracketed: true}
	r.p++
	for {
		r.blank()
		if r.peek() == '}' {
			break
		}
		if r.p >= len(r.text) {
			r.p = n.start
			r.fail("this inline table is not closed", "add } at its end")
		}
		r.assign(n, -2-n.start, depth+1)
		r.blank()
		if r.peek() == '}' {
			break
		}
		if r.peek() != ',' {
			r.fail("a comma or } is expected here", "")
		}
		r.p++
	}
	r.p++
	n.end = r.p
	return n
}

func (r *tomlReader) str() *node {
	n := &node{kind: StringKind, start: r.p, style: r.text[r.p]}
	quote := string(n.style)
	if three := strings.Repeat(quote, 3); strings.HasPrefix(r.text[r.p:], three) {
		quote = three
	}
	r.p += len(quote)
	long := len(quote) == 3
	if long {
		n.style |= 0x80
		if r.p < len(r.text) && endsLine(r.text, r.p) {
			r.p = nextLine(r.text, r.p)
		}
	}
	var out []byte
	for {
		if r.p >= len(r.text) {
			r.p = n.start
			r.fail("this string is not closed", "add "+quote+" at its end")
		}
		c := r.text[r.p]
		switch {
		case strings.HasPrefix(r.text[r.p:], quote):
			r.p += len(quote)
			// Up to two more quotes belong to the string.
			for i := 0; long && i < 2 && r.p < len(r.text) && r.text[r.p] == quote[0]; i++ {
				out = append(out, quote[0])
				r.p++
			}
			n.end, n.text = r.p, string(out)
			return n
		case c == '\n' || c == '\r':
			if !long || c == '\r' && !strings.HasPrefix(r.text[r.p:], "\r\n") {
				r.fail("this string is not closed at the end of its line", "add "+quote+" at its end")
			}
			out = append(out, c)
			r.p++
		case c < ' ' && c != '\t' || c == 0x7f:
			r.fail("this string contains a control character", `write it as \u00XX`)
		case c == '\\' && quote[0] == '"':
			out = r.escape(out, long)
		default:
			out = append(out, c)
			r.p++
		}
	}
}

func (r *tomlReader) escape(out []byte, long bool) []byte {
	r.p++
	const plain, meant = "btnfre\"\\", "\b\t\n\f\r\x1b\"\\"
	c := r.peek()
	if i := strings.IndexByte(plain, c); i >= 0 && c != 0 {
		r.p++
		return append(out, meant[i])
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 && r.p+1+digits <= len(r.text) {
		v, ok := hexRune(r.text[r.p+1 : r.p+1+digits])
		if !ok || !utf8.ValidRune(v) {
			r.fail("this escape is not a valid character", fmt.Sprintf(`write \%c and %d hexadecimal digits`, c, digits))
		}
		r.p += 1 + digits
		return utf8.AppendRune(out, v)
	}
	if end := skipSpace(r.text, r.p); long && end < len(r.text) && endsLine(r.text, end) {
		r.p = skipWhite(r.text, end)
		return out
	}
	r.p--
	r.fail("a backslash in a string must be escaped", `write \\, or use single quotes: 'C:\Users'`)
	return nil
}

// tooLarge reports whether an integer does not fit into 64 bits.
func tooLarge(text string) bool {
	if len(text) < len("0x8000000000000000") {
		return false
	}
	_, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	return errors.Is(err, strconv.ErrRange)
}

// digitsOnly avoids the regular expression for most numbers.
func digitsOnly(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func quoted(name string) string { return `"` + name + `"` }
