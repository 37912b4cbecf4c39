package splice

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/pelletier/go-toml/v2"
)

// secondLimit is the size up to which another library is asked. Both take
// quadratic time for some files: half a minute for four megabytes of tables.
const secondLimit = 256 << 10

// secondOpinion: does another library see the same structure in the text?
func (d *Document) secondOpinion() (err error) {
	if len(d.text) > secondLimit || d.root.absent {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("it gave up")
		}
	}()
	switch d.format {
	case TOML:
		var read map[string]any
		if err := toml.Unmarshal([]byte(d.text), &read); err != nil {
			return err
		}
		return sameTOML(d.root, read)
	case YAML:
		file, err := parser.ParseBytes([]byte(strings.ReplaceAll(d.text, "\r\n", "\n")), 0)
		if err != nil {
			return err
		}
		for _, document := range file.Docs {
			if document.Body != nil && document.Body.Type() != ast.DirectiveType {
				return sameYAML(d.root, document.Body)
			}
		}
		return errors.New("it found nothing")
	}
	return nil
}

var errOther = errors.New("the structure differs")

func sameTOML(n *node, v any) error {
	switch v := v.(type) {
	case map[string]any:
		if n.kind != MapKind || len(n.children) != len(v) {
			return errOther
		}
		for _, c := range n.children {
			value, known := v[c.name]
			if !known {
				return errOther
			}
			if err := sameTOML(c.node, value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if n.kind != ListKind || len(n.children) != len(v) {
			return errOther
		}
		for i, c := range n.children {
			if err := sameTOML(c.node, v[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if n.kind == StringKind && n.text == v {
			return nil
		}
	case bool:
		if n.kind == BoolKind && n.truth == v {
			return nil
		}
	case int64, float64:
		if n.kind == NumberKind {
			return nil
		}
	case time.Time, toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		if n.kind == TimeKind {
			return nil
		}
	}
	return errOther
}

// sameYAML compares structure, names and texts. Whether a plain word is a
// number or a text may differ: it is not touched.
func sameYAML(n *node, other ast.Node) error {
	differs := func() error { return fmt.Errorf("%w in its line %d", errOther, other.GetToken().Position.Line) }
	switch o := other.(type) {
	case *ast.AnchorNode:
		return sameYAML(n, o.Value)
	case *ast.TagNode:
		return sameYAML(n, o.Value)
	case *ast.AliasNode:
		if n.target == nil {
			return differs()
		}
		return nil
	case *ast.MappingNode:
		if n.kind != MapKind || n.target != nil || len(n.children) != len(o.Values) {
			return differs()
		}
		for i, value := range o.Values {
			if value.Key.GetToken().Value != n.children[i].name {
				return differs()
			}
			if err := sameYAML(n.children[i].node, value.Value); err != nil {
				return err
			}
		}
		return nil
	case *ast.MappingValueNode:
		if n.kind != MapKind || len(n.children) != 1 || o.Key.GetToken().Value != n.children[0].name {
			return differs()
		}
		return sameYAML(n.children[0].node, o.Value)
	case *ast.SequenceNode:
		if n.kind != ListKind || n.target != nil || len(n.children) != len(o.Values) {
			return differs()
		}
		for i, value := range o.Values {
			if err := sameYAML(n.children[i].node, value); err != nil {
				return err
			}
		}
		return nil
	case *ast.StringNode:
		if n.kind == StringKind && n.text != o.Value || n.kind == MapKind || n.kind == ListKind || n.target != nil {
			return differs()
		}
		return nil
	case *ast.LiteralNode:
		if n.kind != StringKind || n.text != o.Value.Value {
			return differs()
		}
		return nil
	}
	if n.kind == MapKind || n.kind == ListKind || n.target != nil {
		return differs()
	}
	return nil
}
