// Package splice edits one value in somebody else's configuration file and
// leaves every other byte as it was.
//
//	text.go     bytes <-> text: encodings, lines, columns
//	node.go     the tree
//	json.go, toml.go, yaml.go, yaml_scalar.go   text -> tree, one reader per format
//	edit.go     Set, Remove, Rename: what changes, in which order
//	bracket.go  edits between brackets: JSON, arrays and inline tables of TOML, flow style of YAML
//	block.go, table.go   edits of YAML's lines and of TOML's tables
//	write.go    new values, written as their neighbours are
//	value.go    plain values
//	proof.go    the new text is read again: this one thing changed, nothing else
//	second.go   what other libraries read in the same text
//
// The readers are our own, because an edit needs the exact place of every key,
// comma and value: the libraries lose them, count them in characters, or take
// quadratic time. Their reading is the second opinion.
package splice

import (
	"fmt"
	"iter"
	"sync"
)

// Format says how a file is to be read.
type Format int

const (
	JSON  Format = iota // what JSON.parse takes
	JSONC               // with comments and trailing commas
	TOML
	YAML
)

func (f Format) String() string {
	return [...]string{"JSON", "JSON with comments", "TOML", "YAML"}[f]
}

// Files beyond these are nobody's settings.
const (
	maxSize  = 10 << 20
	maxDepth = 200
)

// Kind is what a value is.
type Kind uint8

const (
	NullKind Kind = iota
	BoolKind
	NumberKind
	StringKind
	TimeKind // only in TOML
	ListKind
	MapKind
)

// A Document is a file that was read. It never changes: an edit makes another.
type Document struct {
	format Format
	form   encoding
	text   string
	root   *node
	lines  []int   // where lines begin
	runes  []int   // characters before each runeBlock of bytes
	blocks []block // of TOML

	// second says, asked once, whether another reader reads the same.
	second func() error
}

// Map is a map in the order of its file.
type Map []Member

// Member is a name and its plain value.
type Member struct {
	Name  string
	Value any
}

// Clock is a date or a time of TOML, as it is written.
type Clock string

// Parse reads text. Its error is a *SyntaxError.
func Parse(f Format, text []byte) (*Document, error) {
	if len(text) > maxSize {
		return nil, &SyntaxError{Line: 1, Column: 1, What: "the file is larger than 10 MB", Hint: "settings are never that large: look at what wrote it"}
	}
	decoded, form, err := decode(text)
	if err != nil {
		return nil, err
	}
	return read(f, form, decoded)
}

func read(f Format, form encoding, text string) (d *Document, err error) {
	d = &Document{format: f, form: form, text: text, lines: lineStarts(text), runes: runeCounts(text)}
	defer func() {
		switch stop := recover().(type) {
		case nil:
		case stopped:
			d, err = nil, d.syntaxError(stop)
		default:
			panic(stop)
		}
	}()
	d.second = sync.OnceValue(d.secondOpinion)
	switch f {
	case JSON, JSONC:
		d.root = readJSON(text, f == JSONC)
	case TOML:
		d.root, d.blocks = readTOML(text)
	case YAML:
		d.root = readYAML(text)
	}
	return d, nil
}

// Bytes is the file, in its own encoding.
func (d *Document) Bytes() []byte { return d.form.encode(d.text) }

// Root is the value of the whole file. An empty file is an empty map.
func (d *Document) Root() Node { return Node{d, d.root} }

// At is the value at the end of a path of names (string) and indexes (int).
func (d *Document) At(path ...any) (Node, bool) {
	n := d.root
	for _, step := range path {
		if n = n.step(step); n == nil {
			return Node{}, false
		}
	}
	return Node{d, n}, true
}

// Duplicate is a name that stands more than once in the same map: only the
// last one counts.
type Duplicate struct {
	Name string
	Line int // of the one that does not count
}

// Duplicates are the members that a later one of the same name hides.
func (d *Document) Duplicates() []Duplicate {
	var found []Duplicate
	var visit func(n *node)
	visit = func(n *node) {
		for _, c := range n.children {
			if c.hidden {
				found = append(found, Duplicate{c.name, d.line(c.start)})
			}
			visit(c.node)
		}
	}
	visit(d.root)
	return found
}

// Node is a value in a document.
type Node struct {
	d *Document
	n *node
}

// Kind is what the value is.
func (n Node) Kind() Kind { return n.n.resolve().kind }

// Value is the value as plain data: nil, bool, json.Number (the digits as they
// are written, which in TOML and YAML may be 0xff or .inf), string, Clock,
// []any or Map.
func (n Node) Value() any { return n.n.value() }

// Members are the members of a map in order, without hidden ones.
func (n Node) Members() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		if n.Kind() != MapKind {
			return
		}
		for _, c := range n.n.members() {
			if !yield(c.name, Node{n.d, c.node}) {
				return
			}
		}
	}
}

// Items are the items of a list.
func (n Node) Items() []Node {
	if n.Kind() != ListKind {
		return nil
	}
	var items []Node
	for _, c := range n.n.resolve().children {
		items = append(items, Node{n.d, c.node})
	}
	return items
}

// Place is where the value begins; both count from one, columns in characters.
func (n Node) Place() (line, column int) { return n.d.position(n.n.start) }

// Start returns where the value begins in the text, in bytes, a byte order mark
// not counted.
func (n Node) Start() int { return n.n.start }

// Raw is the text of the value as it is written; a TOML table that is not
// written in one place has none.
func (n Node) Raw() string {
	if n.n.scattered {
		return ""
	}
	return n.d.text[n.n.start:n.n.end]
}

// Alias tells whether another value, written elsewhere, stands for this one.
func (n Node) Alias() bool { return n.n.target != nil }

// A SyntaxError says what is wrong with a file, where, and what to do.
type SyntaxError struct {
	Line, Column int
	What         string
	Hint         string
}

func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.What)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// stopped is how a reader gives up: thrown by it, caught in read.
type stopped struct {
	at   int
	what string
	hint string
}

func (d *Document) syntaxError(s stopped) *SyntaxError {
	line, column := d.position(min(s.at, len(d.text)))
	return &SyntaxError{Line: line, Column: column, What: s.what, Hint: s.hint}
}
