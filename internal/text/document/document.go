// Package document reads YAML and JSON files of gauze as a tree with the position of every value, so that
// all mistakes in a file are reported together, each with its line.
//
//	document.go Read: the tree
//	reader.go   Reader: values of the expected types, and the problems with those that are not
//	problem.go  Problem: one mistake
//	depth.go    the limit of a file's nesting
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Position is a place in a file, counted from 1.
type Position struct {
	Line, Column int
	Key          string // the keys that lead there, such as servers.notes.command; empty for the whole file
}

func at(line, column int) Position { return Position{Line: line, Column: column} }

// Node is a value in a file. Exactly one of Fields, Items and Scalar is used, as Kind says.
type Node struct {
	Position
	Kind   Kind
	Fields []Field
	Items  []*Node
	Scalar any // nil, bool, string or json.Number

	twice []Field // those whose name an earlier one has
}

// Kind is what a Node is.
type Kind int

// Kinds of nodes.
const (
	IsScalar Kind = iota
	IsMapping
	IsList
)

// Field is one key of a mapping.
type Field struct {
	Position
	Name  string
	Value *Node
}

// maxDepth limits the nesting of a file.
const maxDepth = 64

// Read reads a file: JSON if it begins with a brace, otherwise YAML. required names what a file must
// have, for a message. The node is nil if the file cannot be read at all.
func Read(text []byte, required string) (*Node, Problems) {
	root, problem := read(text, required)
	if problem != nil {
		return nil, Problems{problem}
	}
	var problems Problems
	root.locate("", &problems)
	return root, problems
}

// locate sets the keys that lead to the node and to all below it, and adds the problem of each key that
// is set twice.
func (n *Node) locate(key string, problems *Problems) {
	n.Key = key
	below := func(name string) string {
		if key == "" {
			return redact.Quote(name)
		}
		return key + "." + redact.Quote(name)
	}
	for i, f := range n.Fields {
		n.Fields[i].Key = below(f.Name)
		f.Value.locate(below(f.Name), problems)
	}
	for _, f := range n.twice {
		first := slices.IndexFunc(n.Fields, func(known Field) bool { return known.Name == f.Name })
		f.Key = below(f.Name)
		*problems = append(*problems, problemAt(f.Position, fmt.Sprintf("%q is set twice: remove this one or the one on line %d", f.Name, n.Fields[first].Line)))
	}
	for i, item := range n.Items {
		item.locate(fmt.Sprintf("%s[%d]", key, i), problems)
	}
}

func read(text []byte, required string) (*Node, *Problem) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // Windows editors write a byte order mark
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, problemAt(at(1, 1), "the file is not text: it must be YAML or JSON in UTF-8")
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text) {
		return readJSON(text)
	}
	return readYAML(text, required)
}

// readYAML reads one YAML document.
func readYAML(text []byte, required string) (*Node, *Problem) {
	if problem := tooDeep(text); problem != nil {
		return nil, problem
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, yamlProblem(text, err)
	}
	var found *Node
	for {
		var document yaml.Node
		switch err := loader.Load(&document); {
		case errors.Is(err, io.EOF) && found == nil:
			return nil, problemAt(at(1, 1), "the file is empty: it must have "+required)
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, yamlProblem(text, err)
		case len(document.Content) == 0 || absent(document.Content[0]):
		case found != nil:
			return nil, problemAt(yamlPosition(document.Content[0]), "the file contains a second document: keep one document per file")
		default:
			var problem *Problem
			if found, problem = fromYAML(document.Content[0], 0); problem != nil {
				return nil, problem
			}
		}
	}
}

func yamlProblem(text []byte, err error) *Problem {
	var syntax *yaml.LoadError
	if !errors.As(err, &syntax) {
		return problemAt(at(1, 1), "the file is not valid YAML: "+plaintext.Clean(err.Error()))
	}
	place, message := at(syntax.Mark.Line, syntax.Mark.Column), syntax.Message
	if syntax.ContextMsg != "" {
		place, message = at(syntax.ContextMark.Line, syntax.ContextMark.Column), syntax.ContextMsg+": "+message
	}
	open := bytes.LastIndexAny(text, "[{")
	switch {
	case place.Line < 1: // of a character that no place is given for
		before := text[:max(0, bytes.IndexFunc(text, func(r rune) bool { return r != '\t' && r != '\n' && r != '\r' && r != '\u0085' && unicode.IsControl(r) }))]
		place = at(1+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):]))
	case strings.Contains(message, "cannot start any token") && indentedWithTab(text, place.Line):
		message = "this line is indented with a tab; use spaces"
	case strings.Contains(message, "did not find expected node content") && open >= 0: // at the end of the file
		start := 1 + bytes.LastIndexByte(text[:open], '\n')
		place, message = at(1+bytes.Count(text[:open], []byte("\n")), 1+utf8.RuneCount(text[start:open])), "this bracket is not closed"
	}
	return problemAt(place, "the file is not valid YAML: "+plaintext.Clean(message))
}

func indentedWithTab(text []byte, line int) bool {
	lines := bytes.Split(text, []byte("\n"))
	return line >= 1 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t"))
}

func yamlPosition(n *yaml.Node) Position { return at(n.Line, n.Column) }

// absent reports whether nothing is written where a value could be.
func absent(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" }

// fromYAML returns a node of the YAML library as ours.
func fromYAML(n *yaml.Node, depth int) (*Node, *Problem) {
	out := &Node{Position: yamlPosition(n)}
	switch {
	case depth > maxDepth:
		return nil, problemAt(out.Position, fmt.Sprintf("the file is nested more than %d levels deep", maxDepth))
	case n.Kind == yaml.AliasNode, n.Anchor != "", n.Style&yaml.TaggedStyle != 0:
		return nil, problemAt(out.Position, "anchors, aliases and tags are not supported: write the value out in full")
	case n.Kind == yaml.ScalarNode:
		return out, out.setScalar(n)
	case n.Kind == yaml.SequenceNode:
		out.Kind = IsList
		for _, value := range n.Content {
			item, problem := fromYAML(value, depth+1)
			if problem != nil {
				return nil, problem
			}
			out.Items = append(out.Items, item)
		}
		return out, nil
	}
	out.Kind = IsMapping
	for i := 0; i < len(n.Content); i += 2 {
		if problem := out.addYAML(n.Content[i], n.Content[i+1], depth); problem != nil {
			return nil, problem
		}
	}
	return out, nil
}

// setScalar sets the value of a scalar: a string, unless YAML reads a different type.
func (out *Node) setScalar(n *yaml.Node) *Problem {
	out.Scalar = n.Value
	switch n.ShortTag() {
	case "!!null":
		out.Scalar = nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return problemAt(out.Position, "this value is not supported: "+plaintext.Clean(err.Error()))
		}
		if truth, is := v.(bool); is {
			out.Scalar = truth
			return nil
		}
		text, err := json.Marshal(v)
		if err != nil {
			return problemAt(out.Position, "this number cannot be sent as JSON")
		}
		out.Scalar = json.Number(text)
	}
	return nil
}

// addYAML adds a key of a YAML mapping.
func (out *Node) addYAML(key, n *yaml.Node, depth int) *Problem {
	place := yamlPosition(key)
	switch {
	case key.Kind == yaml.AliasNode, key.Anchor != "", key.Style&yaml.TaggedStyle != 0, key.ShortTag() == "!!merge":
		return problemAt(place, "anchors, aliases and tags are not supported: write the value out in full")
	case key.Kind != yaml.ScalarNode:
		return problemAt(place, "this key is not supported: use a string")
	}
	value, problem := fromYAML(n, depth+1)
	if problem != nil {
		return problem
	}
	if absent(n) {
		value.Position = place
	}
	out.add(Field{place, key.Value, value})
	return nil
}

// add adds a key. Of two with one name, the first counts.
func (out *Node) add(f Field) {
	if slices.ContainsFunc(out.Fields, func(known Field) bool { return known.Name == f.Name }) {
		out.twice = append(out.twice, f)
		return
	}
	out.Fields = append(out.Fields, f)
}

// readJSON reads valid JSON.
func readJSON(text []byte) (*Node, *Problem) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := &jsonReader{Decoder: d, text: text}
	out, problem := r.value(0)
	if problem != nil {
		return nil, problem
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, problemAt(r.here(), "the file contains more than one JSON value")
	}
	return out, nil
}

type jsonReader struct {
	*json.Decoder
	text []byte
}

// here returns the position of the next token.
func (r *jsonReader) here() Position {
	next := int(r.InputOffset())
	for next < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[next]) >= 0 {
		next++
	}
	before := r.text[:next]
	return at(bytes.Count(before, []byte("\n"))+1, next-bytes.LastIndexByte(before, '\n'))
}

func (r *jsonReader) value(depth int) (*Node, *Problem) {
	out := &Node{Position: r.here()}
	if depth > maxDepth {
		return nil, problemAt(out.Position, fmt.Sprintf("the file is nested more than %d levels deep", maxDepth))
	}
	token, err := r.Token()
	if err != nil {
		return nil, problemAt(out.Position, "the file is not valid JSON: "+err.Error())
	}
	switch token {
	case json.Delim('{'):
		out.Kind = IsMapping
		for r.More() {
			place := r.here()
			key, err := r.Token()
			if err != nil {
				return nil, problemAt(place, "the file is not valid JSON: "+err.Error())
			}
			value, problem := r.value(depth + 1)
			if problem != nil {
				return nil, problem
			}
			out.add(Field{place, key.(string), value})
		}
	case json.Delim('['):
		out.Kind = IsList
		for r.More() {
			item, problem := r.value(depth + 1)
			if problem != nil {
				return nil, problem
			}
			out.Items = append(out.Items, item)
		}
	default:
		out.Scalar = token
		return out, nil
	}
	if _, err := r.Token(); err != nil {
		return nil, problemAt(out.Position, "the file is not valid JSON: "+err.Error())
	}
	return out, nil
}

// JSON returns the node as a JSON value.
func (n *Node) JSON() any {
	switch n.Kind {
	case IsMapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = f.Value.JSON()
		}
		return m
	case IsList:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.JSON()
		}
		return list
	}
	return n.Scalar
}

// Says describes the node in a message.
func (n *Node) Says() string {
	switch n.Kind {
	case IsMapping:
		return "a mapping"
	case IsList:
		return "a list"
	}
	switch n.Scalar.(type) {
	case nil:
		return "empty"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	}
	return "a string"
}
