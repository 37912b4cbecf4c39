package splice

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
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

// readTOML turns the expressions of the TOML library into tables. The library has the range of each
// key and scalar; those of arrays and inline tables follow from them.
func readTOML(text string) (*node, []block) {
	r := tomlReader{scanner: scanner{text: text}, root: &node{kind: MapKind, scattered: true, origin: originHeader}}
	r.root.absent, r.root.end = true, len(text)
	r.blocks = []block{{node: r.root, chain: []*node{r.root}}}
	var parser unstable.Parser
	parser.Reset([]byte(text))
	for parser.NextExpression() {
		r.root.absent = false
		if e := parser.Expression(); e.Kind == unstable.KeyValue {
			b := &r.blocks[len(r.blocks)-1]
			b.entries = append(b.entries, r.assign(e, b.node, len(r.blocks)-1, len(b.keys)))
			r.p = b.entries[len(b.entries)-1].end
		} else {
			r.header(e)
		}
	}
	r.failOn(parser.Error(), parser)
	return r.root, r.blocks
}

// tomlFaults are what the library's messages mean, and how to fix it.
var tomlFaults = []fault{
	{"expected newline", "unexpected content after the entry", "put each entry on its own line"},
	{"cannot have new lines", "this string is not closed at the end of its line", "add the missing quote at its end"},
	{"terminated", "this string is not closed", "add the missing quotes at its end"},
	{"is incomplete", "this bracket is not closed", "add the missing ] or } at its end"},
	{"to close", "this header is not closed", "add ] at its end, or ]] for a list"},
	{"expected '='", "an = is missing between the key and its value", "use key = value"},
	{"expected ','", "a comma or a closing bracket is expected here", ""},
	{"escape", "a backslash in a string must be escaped", `use \\ or single quotes: 'C:\Users'`},
	{"character after \\", "a backslash in a string must be escaped", `use \\ or single quotes: 'C:\Users'`},
	{"control characters", "there is a control character here", `remove it, or use \u00XX in a string`},
	{"start of key", "a key is expected here", "use key = value; put a key in quotes if it has characters other than letters, digits, - and _"},
	{"reached end", "a key is expected here", "use key = value"},
	{"", "this is not a value", "put strings in quotes; other values are true, false, numbers, dates, [array] and {table}"},
}

// failOn reports an error of the library.
func (r *tomlReader) failOn(err error, parser unstable.Parser) {
	var e *unstable.ParserError
	if !errors.As(err, &e) {
		return
	}
	at := int(parser.Range(e.Highlight).Offset)
	for _, fault := range tomlFaults {
		if !strings.Contains(e.Message, fault.message) {
			continue
		}
		switch fault.message {
		case "terminated", "is incomplete": // where it begins
			at = r.trivia(r.p)
			if sign := strings.IndexByte(r.text[at:], '='); sign >= 0 {
				at = skipSpace(r.text, at+sign+1)
			}
		case "escape":
			at = strings.LastIndexByte(r.text[:at+1], '\\')
		}
		r.failAt(at, fault.what, fault.hint)
	}
}

func (r *tomlReader) trivia(at int) int { return skipTrivia(TOML, r.text, at) }

// keys returns the parts of a dotted key and leaves the parents to the caller.
func (r *tomlReader) keys(e *unstable.Node) (keys []key) {
	for parts := e.Key(); parts.Next(); {
		k := parts.Node()
		start := int(k.Raw.Offset)
		keys = append(keys, key{start: start, end: start + int(k.Raw.Length), name: string(k.Data)})
	}
	r.p = keys[0].start
	r.failIfDeep(len(keys))
	return keys
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

func (r *tomlReader) header(e *unstable.Node) {
	b := block{keys: r.keys(e), array: e.Kind == unstable.ArrayTable}
	brackets := 1
	if b.array {
		brackets = 2
	}
	b.start = len(strings.TrimRight(r.text[:b.keys[0].start], " \t")) - brackets
	b.end = skipSpace(r.text, b.keys[len(b.keys)-1].end) + brackets
	r.p = b.end

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

// assign adds key = value to a table.
func (r *tomlReader) assign(expression *unstable.Node, table *node, home, depth int) entry {
	e := entry{keys: r.keys(expression)}
	e.start = e.keys[0].start
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
	c := child{name: last.name, start: e.start, keyEnd: last.end, after: skipSpace(r.text, last.end) + 1}
	c.node = r.value(expression.Value(), skipSpace(r.text, c.after), depth+len(e.keys))
	table.add(c)
	e.chain = append(e.chain, c.node)
	e.end = c.node.end
	return e
}

// value reads the value at a position.
func (r *tomlReader) value(v *unstable.Node, at, depth int) *node {
	r.p = at
	r.failIfDeep(depth)
	n := &node{start: at, end: at + int(v.Raw.Length)}
	switch v.Kind {
	case unstable.String:
		n.kind, n.text, n.style = StringKind, string(v.Data), r.text[at]
		if strings.HasPrefix(r.text[at+1:], r.text[at:at+1]+r.text[at:at+1]) && n.end-at > 2 {
			n.style |= 0x80 // three quotes
		}
	case unstable.Bool:
		n.kind, n.truth = BoolKind, r.text[at] == 't'
	case unstable.Integer, unstable.Float:
		n.kind, n.text = NumberKind, string(v.Data)
		if len(n.text) > 17 && tomlKind(n.text) != NumberKind {
			r.fail("this number does not fit in 64 bits", "put it in quotes")
		}
	case unstable.Array, unstable.InlineTable:
		r.entries(n, v, depth)
	default:
		n.kind, n.text = TimeKind, string(v.Data)
		if tomlKind(n.text) != TimeKind {
			r.fail("this date or time does not exist", "correct it, or put it in quotes")
		}
	}
	return n
}

// entries reads what is between brackets.
func (r *tomlReader) entries(n *node, v *unstable.Node, depth int) {
	n.bracketed, n.kind = true, ListKind
	if v.Kind == unstable.InlineTable {
		n.kind = MapKind
	}
	next := r.trivia(n.start + 1)
	for all := v.Children(); all.Next(); {
		end := 0
		if n.kind == MapKind {
			end = r.assign(all.Node(), n, -2-n.start, depth+1).end
		} else {
			item := child{start: next, node: r.value(all.Node(), next, depth+1)}
			n.children = append(n.children, item)
			end = item.node.end
		}
		if next = r.trivia(end); r.at(next) == ',' {
			next = r.trivia(next + 1)
		}
	}
	n.end = next + 1
}

func quoted(name string) string { return `"` + name + `"` }
