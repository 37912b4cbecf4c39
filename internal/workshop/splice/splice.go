// Package splice edits one value of a configuration file and leaves every other
// byte unchanged.
//
//	text.go        bytes <-> text: encodings, lines, columns
//	node.go        the tree
//	json.go, toml.go, yaml.go   text -> tree, one reader per format
//	edit.go        Set, Remove, Rename: what changes, in which order
//	bracket.go     edits between brackets: JSON, TOML arrays and inline tables, YAML flow style
//	block.go, table.go   edits of YAML blocks and of TOML tables
//	write.go       new values, written like their neighbours
//	value.go       plain values
//	verify.go      the new text is read again: this value changed, nothing else
//
// An edit needs the range of every value. The libraries for TOML (go-toml) and YAML (go.yaml.in, a
// port of libyaml) have the positions at which values begin, from which the ranges follow; each
// character that a range depends on is checked. The reader for JSON is our own, because most broken
// files are JSON and its messages say how to repair them; hujson also refuses files that end in a
// comment, and overflows the stack on 10 MB of "[".
package splice

import (
	"fmt"
	"iter"
)

// Format is the syntax of a file.
type Format int

const (
	JSON  Format = iota // what JSON.parse accepts
	JSONC               // JSON with comments and trailing commas
	TOML
	YAML
)

func (f Format) String() string {
	return [...]string{"JSON", "JSON with comments", "TOML", "YAML"}[f]
}

// Larger or deeper files are not configuration.
const (
	maxSize  = 10 << 20
	maxDepth = 200
)

// Kind is the type of a value.
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

// A Document is a parsed file. It is immutable: an edit returns a new one.
type Document struct {
	format Format
	form   encoding
	text   string
	root   *node
	lines  []int   // offsets at which lines begin
	runes  []int   // number of characters before each runeBlock of bytes
	blocks []block // TOML only
}

// Map is a map in the order of the file.
type Map []Member

// Member is a key and its plain value.
type Member struct {
	Name  string
	Value any
}

// Clock is a TOML date or time, as written.
type Clock string

// Parse reads text. Its error is a *SyntaxError.
func Parse(f Format, text []byte) (*Document, error) {
	if len(text) > maxSize {
		return nil, &SyntaxError{Line: 1, Column: 1, What: "the file is larger than 10 MB",
			Hint: "a configuration file is never this large: check which program wrote it"}
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
		case parseFailure:
			d, err = nil, d.syntaxError(stop)
		default:
			panic(stop)
		}
	}()
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

func (d *Document) isJSON() bool { return d.format == JSON || d.format == JSONC }

// Bytes returns the file in its original encoding.
func (d *Document) Bytes() []byte { return d.form.encode(d.text) }

// Root returns the value of the whole file. An empty file is an empty map.
func (d *Document) Root() Node { return Node{d, d.root} }

// At returns the value at a path of keys (string) and indexes (int).
func (d *Document) At(path ...any) (Node, bool) {
	n := d.root
	for _, step := range path {
		if n = n.step(step); n == nil {
			return Node{}, false
		}
	}
	return Node{d, n}, true
}

// Duplicate is a key that occurs more than once in the same map. Only the last
// one counts.
type Duplicate struct {
	Name string
	Line int // of an occurrence that does not count
}

// Duplicates returns the members that are hidden by a later one with the same key.
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

// Kind returns the type of the value.
func (n Node) Kind() Kind { return n.n.resolve().kind }

// Value returns the value as plain data: nil, bool, json.Number (the digits as
// written, which in TOML and YAML may be 0xff or .inf), string, Clock, []any or
// Map.
func (n Node) Value() any { return n.n.value() }

// Members iterates over the members of a map in order, without hidden ones.
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

// Items returns the items of a list.
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

// Place returns where the value begins. Lines and columns start at 1; columns
// count characters.
func (n Node) Place() (line, column int) { return n.d.position(n.n.start) }

// Start returns the offset in bytes at which the value begins, not counting a
// byte order mark.
func (n Node) Start() int { return n.n.start }

// Raw returns the value as written, or "" for a TOML table, which may be written
// in several places.
func (n Node) Raw() string {
	if n.n.scattered {
		return ""
	}
	return n.d.text[n.n.start:n.n.end]
}

// Alias reports whether the value is a YAML alias of a value elsewhere.
func (n Node) Alias() bool { return n.n.target != nil }

// A SyntaxError reports what is wrong with a file, where, and how to fix it.
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

// parseFailure is the panic value with which a reader gives up. read recovers it.
type parseFailure struct {
	at   int
	what string
	hint string
}

// fault is a syntax error of which the message of a library contains a part.
type fault struct{ message, what, hint string }

// scanner is a position in a text, the base of the three readers.
type scanner struct {
	text string
	p    int
}

func (s *scanner) fail(what, hint string) { s.failAt(s.p, what, hint) }

func (s *scanner) failAt(at int, what, hint string) { panic(parseFailure{at, what, hint}) }

func (s *scanner) peek() byte { return s.at(s.p) }

// at returns the byte at p, or 0 after the end.
func (s *scanner) at(p int) byte {
	if p < len(s.text) {
		return s.text[p]
	}
	return 0
}

// failIfDeep limits nesting.
func (s *scanner) failIfDeep(depth int) {
	if depth > maxDepth {
		s.fail(fmt.Sprintf("values are nested more than %d levels deep", maxDepth), "")
	}
}

// failDuplicate rejects a key that the map already has.
func (s *scanner) failDuplicate(at int, name string) {
	s.failAt(at, "the key "+quoted(name)+" is defined twice", "remove or rename one of the two")
}

func (d *Document) syntaxError(s parseFailure) *SyntaxError {
	line, column := d.position(min(s.at, len(d.text)))
	return &SyntaxError{Line: line, Column: column, What: s.what, Hint: s.hint}
}
