package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/gauze-mcp/gauze/internal/plaintext"
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
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlProblem(err)
	}
	var found *node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case found != nil:
			return nil, problemAt(yamlPosition(doc.Body), "the file contains a second document: keep one document per file")
		default:
			var problem *Problem
			if found, problem = fromYAML(doc.Body, 0); problem != nil {
				return nil, problem
			}
		}
	}
	if found == nil {
		return nil, problemAt(position{1, 1}, "the file is empty: it must have name, servers and steps")
	}
	return found, nil
}

func yamlProblem(err error) *Problem {
	at := position{1, 1}
	var syntax yaml.Error
	if errors.As(err, &syntax) {
		if token := syntax.GetToken(); token != nil {
			at = position{token.Position.Line, token.Position.Column}
		}
		message := plaintext.Clean(syntax.GetMessage())
		if strings.Contains(syntax.GetMessage(), "'\t'") {
			message = "it is indented with a tab; use spaces"
		}
		return problemAt(at, "the file is not valid YAML: "+message)
	}
	return problemAt(at, "the file is not valid YAML: "+plaintext.Clean(err.Error()))
}

func yamlPosition(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	if token := n.GetToken(); token != nil {
		return position{token.Position.Line, token.Position.Column}
	}
	return position{1, 1}
}

// fromYAML returns a node of the YAML library as ours.
func fromYAML(n ast.Node, depth int) (*node, *Problem) {
	out := &node{position: yamlPosition(n)}
	if depth > maxDepth {
		return nil, problemAt(out.position, fmt.Sprintf("the file is nested more than %d levels deep", maxDepth))
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		out.kind = isMapping
		for _, value := range n.Values {
			if problem := out.addYAML(value, depth); problem != nil {
				return nil, problem
			}
		}
	case *ast.MappingValueNode:
		out.kind = isMapping
		if problem := out.addYAML(n, depth); problem != nil {
			return nil, problem
		}
	case *ast.SequenceNode:
		out.kind = isList
		for _, value := range n.Values {
			item, problem := fromYAML(value, depth+1)
			if problem != nil {
				return nil, problem
			}
			out.items = append(out.items, item)
		}
	case *ast.StringNode:
		out.scalar = n.Value
	case *ast.LiteralNode:
		out.scalar = n.Value.Value
	case *ast.BoolNode:
		out.scalar = n.Value
	case *ast.IntegerNode:
		out.scalar = json.Number(fmt.Sprint(n.Value))
	case *ast.FloatNode:
		text, err := json.Marshal(n.Value)
		if err != nil {
			return nil, problemAt(out.position, "this number cannot be sent as JSON")
		}
		out.scalar = json.Number(text)
	case *ast.NullNode:
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode, *ast.TagNode:
		return nil, problemAt(out.position, "anchors, aliases and tags are not supported: write the value out")
	default:
		return nil, problemAt(out.position, "this value is not supported: use a string, number, true, false, null, list or mapping")
	}
	return out, nil
}

// addYAML adds a key of a YAML mapping.
func (out *node) addYAML(n *ast.MappingValueNode, depth int) *Problem {
	at := yamlPosition(n.Key)
	if _, merges := n.Key.(*ast.MergeKeyNode); merges {
		return problemAt(at, "anchors, aliases and tags are not supported: write the value out")
	}
	key := n.Key.String()
	if s, ok := n.Key.(*ast.StringNode); ok {
		key = s.Value
	}
	value, problem := fromYAML(n.Value, depth+1)
	if problem != nil {
		return problem
	}
	if value.kind == isScalar && value.scalar == nil && n.Value.GetToken() != nil && n.Value.GetToken().Value == "" {
		value.position = at // a key without a value
	}
	return out.add(field{at, key, value})
}

// add adds a key, which must be new.
func (out *node) add(f field) *Problem {
	for _, known := range out.fields {
		if known.key == f.key {
			return problemAt(f.position, fmt.Sprintf("%q is set twice: remove one of the two, the other is in line %d", f.key, known.line))
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
