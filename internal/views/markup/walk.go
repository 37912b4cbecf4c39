package markup

import (
	"reflect"
	"text/template/parse"
)

// state is a tree that is being rendered.
type state struct {
	*Template
	w         *writer
	tree      *parse.Tree
	variables []variable // the innermost last
}

type variable struct {
	name  string
	value reflect.Value
}

// fail reports a problem of a node.
func (s *state) fail(n parse.Node, format string, args ...any) {
	place, context := s.tree.ErrorContext(n)
	fail("%s: %s: "+format, append([]any{place, context}, args...)...)
}

func (s *state) walk(dot reflect.Value, node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			s.walk(dot, one)
		}
	case *parse.TextNode:
		s.w.Write(n.Text)
	case *parse.ActionNode:
		if v := s.pipe(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			if err := s.w.value(v); err != nil {
				s.fail(n, "%w", err)
			}
		}
	case *parse.IfNode:
		s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		s.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		s.each(dot, n)
	case *parse.TemplateNode:
		tree := s.trees[n.Name]
		if tree == nil {
			s.fail(n, "this template does not exist")
		}
		s.run(s.w, tree, s.pipe(dot, n.Pipe))
	default:
		s.fail(n, "not supported")
	}
}

// scope runs f and forgets the variables that it declared.
func (s *state) scope(f func()) {
	outer := len(s.variables)
	f()
	s.variables = s.variables[:outer]
}

// branch renders {{if}}, or {{with}}, which also sets dot.
func (s *state) branch(dot reflect.Value, n *parse.BranchNode, with bool) {
	s.scope(func() {
		v := s.pipe(dot, n.Pipe)
		switch {
		case !truth(v):
			if n.ElseList != nil {
				s.walk(dot, n.ElseList)
			}
		case with:
			s.walk(v, n.List)
		default:
			s.walk(dot, n.List)
		}
	})
}

// each renders {{range}} over a list.
func (s *state) each(dot reflect.Value, n *parse.RangeNode) {
	s.scope(func() {
		list := concrete(s.pipe(dot, n.Pipe))
		if k := list.Kind(); k != reflect.Slice && k != reflect.Array {
			s.fail(n, "not a list: %v", k)
		}
		for i := range list.Len() {
			s.scope(func() {
				s.declare(n.Pipe.Decl, i, list.Index(i))
				s.walk(list.Index(i), n.List)
			})
		}
		if list.Len() == 0 && n.ElseList != nil {
			s.walk(dot, n.ElseList)
		}
	})
}

// declare sets the variables of a {{range}}: the element, or the index and the element.
func (s *state) declare(names []*parse.VariableNode, index int, element reflect.Value) {
	if len(names) == 2 {
		s.variables = append(s.variables, variable{names[0].Ident[0], reflect.ValueOf(index)})
		names = names[1:]
	}
	for _, v := range names {
		s.variables = append(s.variables, variable{v.Ident[0], element})
	}
}

// truth reports whether v is set: not false, 0, nil or empty.
func truth(v reflect.Value) bool {
	switch v = concrete(v); v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

// concrete returns what is in an interface.
func concrete(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}
