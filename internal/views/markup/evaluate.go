package markup

import (
	"reflect"
	"text/template/parse"
)

// pipe evaluates a pipeline. Only {{range}} sets several variables, and it does so itself.
func (s *state) pipe(dot reflect.Value, p *parse.PipeNode) (v reflect.Value) {
	if p == nil {
		return v
	}
	if len(p.Cmds) != 1 {
		s.fail(p, "| is not supported")
	}
	v = s.command(dot, p.Cmds[0])
	if len(p.Decl) == 1 && !p.IsAssign {
		s.variables = append(s.variables, variable{p.Decl[0].Ident[0], v})
	}
	return v
}

// command evaluates a value, or a function or method with arguments.
func (s *state) command(dot reflect.Value, c *parse.CommandNode) reflect.Value {
	args := c.Args[1:]
	switch n := c.Args[0].(type) {
	case *parse.IdentifierNode:
		return s.function(dot, n, args)
	case *parse.FieldNode:
		return s.fields(dot, dot, n, n.Ident, args)
	case *parse.VariableNode:
		return s.fields(dot, s.variable(n), n, n.Ident[1:], args)
	case *parse.ChainNode:
		return s.fields(dot, s.argument(dot, n.Node), n, n.Field, args)
	}
	if len(args) > 0 {
		s.fail(c, "not a function")
	}
	return s.argument(dot, c.Args[0])
}

// argument evaluates a node that has no arguments of its own.
func (s *state) argument(dot reflect.Value, node parse.Node) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.BoolNode:
		return reflect.ValueOf(n.True)
	case *parse.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64))
		}
		return reflect.ValueOf(n.Float64)
	case *parse.PipeNode:
		return s.pipe(dot, n)
	case *parse.IdentifierNode, *parse.FieldNode, *parse.VariableNode, *parse.ChainNode:
		return s.command(dot, &parse.CommandNode{Args: []parse.Node{n}})
	}
	s.fail(node, "not supported")
	return reflect.Value{}
}

func (s *state) variable(n *parse.VariableNode) reflect.Value {
	for i := len(s.variables) - 1; i >= 0; i-- {
		if s.variables[i].name == n.Ident[0] {
			return s.variables[i].value
		}
	}
	s.fail(n, "no such variable")
	return reflect.Value{}
}

// function calls a function. The arguments of and and or are only evaluated as far as needed.
func (s *state) function(dot reflect.Value, n *parse.IdentifierNode, nodes []parse.Node) (v reflect.Value) {
	if _, short := shortCircuits[n.Ident]; short {
		for _, node := range nodes {
			if v = s.argument(dot, node); truth(v) == (n.Ident == "or") {
				break
			}
		}
		return v
	}
	return s.call(n, s.functions[n.Ident], s.arguments(dot, nodes))
}

func (s *state) arguments(dot reflect.Value, nodes []parse.Node) (args []reflect.Value) {
	for _, node := range nodes {
		args = append(args, s.argument(dot, node))
	}
	return args
}

// fields follows names from v. The last one may be a method with arguments.
func (s *state) fields(dot, v reflect.Value, n parse.Node, names []string, nodes []parse.Node) reflect.Value {
	for i, name := range names {
		var args []parse.Node
		if i == len(names)-1 {
			args = nodes
		}
		v = concrete(v)
		if !v.IsValid() {
			s.fail(n, "%s of nil", name)
		}
		if receiver, ok := s.receiver(v, name); ok {
			v = s.call(n, s.methods[name], append([]reflect.Value{receiver}, s.arguments(dot, args)...))
			continue
		}
		if len(args) > 0 {
			s.fail(n, "%v has no method %s", v.Type(), name)
		}
		v = s.field(n, v, name)
	}
	return v
}

// receiver returns v, or its address, if it has the method of the name.
func (s *state) receiver(v reflect.Value, name string) (reflect.Value, bool) {
	method, known := s.methods[name]
	if !known {
		return v, false
	}
	want := method.Type().In(0)
	if v.CanAddr() && !v.Type().AssignableTo(want) {
		v = v.Addr()
	}
	return v, v.Type().AssignableTo(want)
}

func (s *state) field(n parse.Node, v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			s.fail(n, "%s of nil", name)
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		if field, found := v.Type().FieldByName(name); found && field.IsExported() {
			return v.FieldByIndex(field.Index)
		}
	}
	s.fail(n, "%v has no field or method %s", v.Type(), name)
	return v
}

// call calls a function and returns its result.
func (s *state) call(n parse.Node, f reflect.Value, args []reflect.Value) reflect.Value {
	t := f.Type()
	if fixed := t.NumIn(); len(args) != fixed && (!t.IsVariadic() || len(args) < fixed-1) {
		s.fail(n, "%d arguments for %v", len(args), t)
	}
	for i, arg := range args {
		want := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			want = want.Elem()
		}
		switch arg = concrete(arg); {
		case !arg.IsValid():
			args[i] = reflect.Zero(want)
		case arg.Type().AssignableTo(want):
			args[i] = arg
		case arg.CanInt() && want.Kind() == reflect.Float64:
			args[i] = arg.Convert(want)
		default:
			s.fail(n, "%v is not a %v", arg.Type(), want)
		}
	}
	return f.Call(args)[0]
}
