package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// position is a place in a file, counted from 1.
type position struct{ line, column int }

// node is a value in a file. Exactly one of fields, items and scalar is used, as kind says.
type node struct {
	position
	kind   kind
	fields []field
	items  []*node
	scalar any // nil, bool, string or json.Number
}

type kind int

const (
	isScalar kind = iota
	isMapping
	isList
)

// field is one key of a mapping.
type field struct {
	position
	key   string
	value *node
}

// maxDepth limits the nesting of a file.
const maxDepth = 64

// readDocument reads a file: JSON if it begins with a brace, otherwise YAML.
func readDocument(text []byte) (*node, *Problem) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // Windows editors write a byte order mark
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, problemAt(position{1, 1}, "the file is not text: it must be YAML or JSON in UTF-8")
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text) {
		return readJSON(text)
	}
	return readYAML(text)
}

// readYAML reads one YAML document.
func readYAML(text []byte) (*node, *Problem) {
	if problem := tooDeep(text); problem != nil {
		return nil, problem
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, yamlProblem(text, err)
	}
	var found *node
	for {
		var document yaml.Node
		switch err := loader.Load(&document); {
		case errors.Is(err, io.EOF) && found == nil:
			return nil, problemAt(position{1, 1}, "the file is empty: it must have name, servers and steps")
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
		return problemAt(position{1, 1}, "the file is not valid YAML: "+plaintext.Clean(err.Error()))
	}
	at, message := position{syntax.Mark.Line, syntax.Mark.Column}, syntax.Message
	if syntax.ContextMsg != "" {
		at, message = position{syntax.ContextMark.Line, syntax.ContextMark.Column}, syntax.ContextMsg+": "+message
	}
	open := bytes.LastIndexAny(text, "[{")
	switch {
	case strings.Contains(message, "cannot start any token") && indentedWithTab(text, at.line):
		message = "it is indented with a tab; use spaces"
	case strings.Contains(message, "did not find expected node content") && open >= 0: // at the end of the file
		start := 1 + bytes.LastIndexByte(text[:open], '\n')
		at, message = position{1 + bytes.Count(text[:open], []byte("\n")), 1 + utf8.RuneCount(text[start:open])}, "this bracket is not closed"
	}
	return problemAt(at, "the file is not valid YAML: "+plaintext.Clean(message))
}

func indentedWithTab(text []byte, line int) bool {
	lines := bytes.Split(text, []byte("\n"))
	return line >= 1 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t"))
}

func yamlPosition(n *yaml.Node) position { return position{n.Line, n.Column} }

// absent reports whether nothing is written where a value could be.
func absent(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" }

// fromYAML returns a node of the YAML library as ours.
func fromYAML(n *yaml.Node, depth int) (*node, *Problem) {
	out := &node{position: yamlPosition(n)}
	switch {
	case depth > maxDepth:
		return nil, problemAt(out.position, fmt.Sprintf("the file is nested more than %d levels deep", maxDepth))
	case n.Kind == yaml.AliasNode, n.Anchor != "", n.Style&yaml.TaggedStyle != 0:
		return nil, problemAt(out.position, "anchors, aliases and tags are not supported: use the value itself")
	case n.Kind == yaml.ScalarNode:
		return out, out.setScalar(n)
	case n.Kind == yaml.SequenceNode:
		out.kind = isList
		for _, value := range n.Content {
			item, problem := fromYAML(value, depth+1)
			if problem != nil {
				return nil, problem
			}
			out.items = append(out.items, item)
		}
		return out, nil
	}
	out.kind = isMapping
	for i := 0; i < len(n.Content); i += 2 {
		if problem := out.addYAML(n.Content[i], n.Content[i+1], depth); problem != nil {
			return nil, problem
		}
	}
	return out, nil
}

// setScalar sets the value of a scalar: a string, unless YAML reads a different type.
func (out *node) setScalar(n *yaml.Node) *Problem {
	out.scalar = n.Value
	switch n.ShortTag() {
	case "!!null":
		out.scalar = nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return problemAt(out.position, "this value is not supported: "+plaintext.Clean(err.Error()))
		}
		if truth, is := v.(bool); is {
			out.scalar = truth
			return nil
		}
		text, err := json.Marshal(v)
		if err != nil {
			return problemAt(out.position, "this number cannot be sent as JSON")
		}
		out.scalar = json.Number(text)
	}
	return nil
}

// addYAML adds a key of a YAML mapping.
func (out *node) addYAML(key, n *yaml.Node, depth int) *Problem {
	at := yamlPosition(key)
	switch {
	case key.Kind == yaml.AliasNode, key.Anchor != "", key.Style&yaml.TaggedStyle != 0, key.ShortTag() == "!!merge":
		return problemAt(at, "anchors, aliases and tags are not supported: use the value itself")
	case key.Kind != yaml.ScalarNode:
		return problemAt(at, "this key is not supported: use a string")
	}
	value, problem := fromYAML(n, depth+1)
	if problem != nil {
		return problem
	}
	if absent(n) {
		value.position = at
	}
	return out.add(field{at, key.Value, value})
}

// add adds a key, which must be new.
func (out *node) add(f field) *Problem {
	for _, known := range out.fields {
		if known.key == f.key {
			return problemAt(f.position, fmt.Sprintf("%q is set twice: remove this one or the one on line %d", f.key, known.line))
		}
	}
	out.fields = append(out.fields, f)
	return nil
}

// readJSON reads valid JSON.
func readJSON(text []byte) (*node, *Problem) {
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
func (r *jsonReader) here() position {
	at := int(r.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	before := r.text[:at]
	return position{bytes.Count(before, []byte("\n")) + 1, at - bytes.LastIndexByte(before, '\n')}
}

func (r *jsonReader) value(depth int) (*node, *Problem) {
	out := &node{position: r.here()}
	if depth > maxDepth {
		return nil, problemAt(out.position, fmt.Sprintf("the file is nested more than %d levels deep", maxDepth))
	}
	token, err := r.Token()
	if err != nil {
		return nil, problemAt(out.position, "the file is not valid JSON: "+err.Error())
	}
	switch token {
	case json.Delim('{'):
		out.kind = isMapping
		for r.More() {
			at := r.here()
			key, err := r.Token()
			if err != nil {
				return nil, problemAt(at, "the file is not valid JSON: "+err.Error())
			}
			value, problem := r.value(depth + 1)
			if problem == nil {
				problem = out.add(field{at, key.(string), value})
			}
			if problem != nil {
				return nil, problem
			}
		}
	case json.Delim('['):
		out.kind = isList
		for r.More() {
			item, problem := r.value(depth + 1)
			if problem != nil {
				return nil, problem
			}
			out.items = append(out.items, item)
		}
	default:
		out.scalar = token
		return out, nil
	}
	if _, err := r.Token(); err != nil {
		return nil, problemAt(out.position, "the file is not valid JSON: "+err.Error())
	}
	return out, nil
}

// value returns the node as a JSON value.
func (n *node) value() any {
	switch n.kind {
	case isMapping:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.key] = f.value.value()
		}
		return m
	case isList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.value()
		}
		return list
	}
	return n.scalar
}

// says describes the node in a message.
func (n *node) says() string {
	switch n.kind {
	case isMapping:
		return "a mapping"
	case isList:
		return "a list"
	}
	switch n.scalar.(type) {
	case nil:
		return "empty"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	}
	return "a string"
}
