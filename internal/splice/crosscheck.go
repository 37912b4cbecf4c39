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

// maxCrossCheckSize is the size up to which files are cross-checked. Both
// libraries take quadratic time for some files: half a minute for 4 MB of tables.
const maxCrossCheckSize = 256 << 10

// checkWithLibrary returns an error if another library reads the text differently.
func (d *Document) checkWithLibrary() (err error) {
	if len(d.text) > maxCrossCheckSize || d.root.absent {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("it panicked")
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
		return errors.New("it found no document")
	}
	return nil
}

// validTime reports whether a well-formed TOML date or time exists, unlike 2020-02-30.
func validTime(text string) bool {
	var read map[string]any
	return toml.Unmarshal([]byte("t = "+text), &read) == nil
}

var errDiffers = errors.New("the structure differs")

func sameTOML(n *node, v any) error {
	switch v := v.(type) {
	case map[string]any:
		if n.kind != MapKind || len(n.children) != len(v) {
			return errDiffers
		}
		for _, c := range n.children {
			value, known := v[c.name]
			if !known {
				return errDiffers
			}
			if err := sameTOML(c.node, value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if n.kind != ListKind || len(n.children) != len(v) {
			return errDiffers
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
	return errDiffers
}

// sameYAML compares structure, keys and strings. Whether a plain scalar is a
// number or a string may differ: edits do not rewrite it.
func sameYAML(n *node, other ast.Node) error {
	differs := func() error { return fmt.Errorf("%w at line %d", errDiffers, other.GetToken().Position.Line) }
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
