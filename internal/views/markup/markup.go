// Package markup renders HTML pages from the templates of html/template, in the part of their
// language that our pages use.
//
// It calls only the functions and methods that it was given. html/template calls any method by its
// name, and therefore a binary that contains it keeps every exported method of every type.
package markup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"text/template/parse"
)

// HTML is markup that is written as it is.
type HTML string

// Table has functions by their names in templates. A function returns one value.
type Table map[string]any

// Language is what templates may call. The first parameter of a method is its receiver, usually an
// interface: {{.Link 1}} calls the method Link if its receiver fits, and otherwise reads a field.
type Language struct{ Functions, Methods Table }

// Template is a set of parsed templates.
type Template struct {
	trees              map[string]*parse.Tree
	functions, methods map[string]reflect.Value
}

// Parse reads files. Each is a template with the name of the file, and so are its definitions.
func (l Language) Parse(files fs.FS, names ...string) (*Template, error) {
	t := &Template{trees: map[string]*parse.Tree{}, functions: values(builtins), methods: values(l.Methods)}
	maps.Copy(t.functions, values(l.Functions))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		trees, err := parse.Parse(path.Base(name), string(text), "", "", l.Functions, builtins, shortCircuits)
		if err != nil {
			return nil, err
		}
		maps.Copy(t.trees, trees)
	}
	return t, nil
}

func values(t Table) map[string]reflect.Value {
	all := make(map[string]reflect.Value, len(t))
	for name, f := range t {
		all[name] = reflect.ValueOf(f)
	}
	return all
}

// failure is a panic that Execute returns as an error.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Execute renders the template of a name.
func (t *Template) Execute(b *bytes.Buffer, name string, data any) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p
		default:
			panic(p)
		}
	}()
	tree := t.trees[name]
	if tree == nil {
		return errors.New("the template " + name + " does not exist")
	}
	w := &writer{Buffer: b, scanned: b.Len()}
	t.run(w, tree, reflect.ValueOf(data))
	if err := w.finish(); err != nil {
		return fmt.Errorf("the template %s: %w", name, err)
	}
	return nil
}

// run renders a tree whose dot and $ are data.
func (t *Template) run(w *writer, tree *parse.Tree, data reflect.Value) {
	s := &state{Template: t, w: w, tree: tree, variables: []variable{{"$", data}}}
	s.walk(data, tree.Root)
}
