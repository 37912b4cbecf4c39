package clientconfig

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// What gauze knows about clients and their mistakes is in text files. A line is "key: value". The lines
// below it that are indented by two more blanks belong to it. Lines that start with # are comments.
// docs/clients.md describes the keys.
//
//go:embed clients/*.txt common.txt problems.txt
var knowledge embed.FS

// parsed returns a function that reads a file of knowledge when it is first called.
func parsed[T any](name string) func() *T {
	return sync.OnceValue(func() *T {
		all := new(T)
		if err := parseFile(knowledge, name, all); err != nil {
			panic(err) // a test reads every file
		}
		return all
	})
}

// parseFile fills in a struct from a file. A key is the name of a field in lower case, or its tag.
func parseFile(from fs.FS, name string, into any) error {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	p := &parser{}
	for number, body := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimLeft(body, " ")
		if strings.TrimSpace(body) == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		key, value, ok := strings.Cut(trimmed, ":")
		p.lines = append(p.lines, line{name, number + 1, len(body) - len(trimmed), key, strings.TrimSpace(value)})
		if !ok {
			return p.lines[len(p.lines)-1].wrong(`a colon is missing: use "key: value"`)
		}
	}
	return p.block(reflect.ValueOf(into).Elem(), 0)
}

// line is one line of a file.
type line struct {
	file           string
	number, indent int
	key, value     string
}

func (l line) wrong(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.file, l.number, fmt.Sprintf(format, args...))
}

// parser has the lines that were not read yet.
type parser struct{ lines []line }

// block reads the lines with this indentation into a struct.
func (p *parser) block(v reflect.Value, indent int) error {
	for len(p.lines) > 0 && p.lines[0].indent >= indent {
		l := p.lines[0]
		p.lines = p.lines[1:]
		if l.indent > indent {
			return l.wrong("the line is indented by %d spaces: use %d, or move it below its key", l.indent, indent)
		}
		keys := keysOf(v.Type())
		field, ok := keys[l.key]
		if !ok {
			return l.wrong("the key %q is unknown: use one of %s", l.key, strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
		}
		if one := field.Tag.Get("one"); one != "" && !slices.Contains(strings.Split(one, ", "), l.value) {
			return l.wrong("%q is unknown: use one of %s, or remove the line", l.value, one)
		}
		if err := p.set(v.FieldByIndex(field.Index), l); err != nil {
			return err
		}
	}
	return nil
}

// keysOf returns the fields of a struct by their keys.
func keysOf(t reflect.Type) map[string]reflect.StructField {
	if known, ok := knownKeys.Load(t); ok {
		return known.(map[string]reflect.StructField)
	}
	all := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		key, tagged := f.Tag.Lookup("key")
		for i, r := range f.Name {
			if !tagged && i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(f.Name[i-1])) {
				key += " "
			}
			if !tagged {
				key += strings.ToLower(string(r))
			}
		}
		if key != "" && f.IsExported() && !f.Anonymous {
			all[key] = f
		}
	}
	knownKeys.Store(t, all)
	return all
}

var knownKeys sync.Map // what keysOf returned, by type

// set reads a line, and the lines below it, into a field. A struct has the value in its first field, and
// what is below in the others. A list may be continued by repeating the key.
func (p *parser) set(v reflect.Value, l line) (err error) {
	switch kind := v.Kind(); {
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return p.set(v.Elem(), l)
	case kind == reflect.Struct:
		if l.value != "" {
			err = p.set(v.Field(0), l)
		}
		if err == nil {
			err = p.block(v, l.indent+2)
		}
		return err
	case kind == reflect.Slice:
		return p.setList(v, l)
	case l.value == "":
		return l.wrong("the value is missing: add it after the colon")
	case kind == reflect.String:
		v.SetString(l.value)
	case kind == reflect.Bool && l.value == "yes":
		v.SetBool(true)
	case kind == reflect.Bool:
		return l.wrong(`the value must be "yes"; otherwise, remove the line`)
	default:
		return l.setNumber(v)
	}
	return nil
}

// setNumber sets a number, a duration, or what has a word for each of its values.
func (l line) setNumber(v reflect.Value) error {
	switch was := v.Interface().(type) {
	case interface{ Words() []string }:
		return l.choose(v, was.Words())
	case time.Duration:
		d, err := time.ParseDuration(l.value)
		if err != nil {
			return l.wrong("%q is not a duration such as 30s, 100ms or 5m", l.value)
		}
		v.SetInt(int64(d))
	default:
		n, err := strconv.Atoi(l.value)
		if err != nil {
			return l.wrong("%q is not a number", l.value)
		}
		v.SetInt(int64(n))
	}
	return nil
}

// setList appends to a list: the items between commas, one struct, or one path with > between its steps.
func (p *parser) setList(v reflect.Value, l line) error {
	items := []string{l.value}
	switch elem := v.Type().Elem().Kind(); {
	case elem == reflect.String && l.value == topLevel:
		return nil
	case elem == reflect.String && strings.Contains(l.value, " > "):
		items = strings.Split(l.value, " > ")
	case elem == reflect.String:
		items = strings.Split(l.value, ",")
	}
	for _, item := range items {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		l.value = strings.TrimSpace(item)
		if err := p.set(v.Index(v.Len()-1), l); err != nil {
			return err
		}
	}
	return nil
}

// topLevel stands for the path without steps.
const topLevel = "top level"

// choose sets a value to one of its words or, if it is unsigned, to a set of them.
func (l line) choose(v reflect.Value, words []string) error {
	items := []string{l.value}
	if v.CanUint() {
		items = strings.Split(l.value, ",")
	}
	for _, item := range items {
		i := slices.Index(words, strings.TrimSpace(item))
		switch {
		case i < 0:
			return l.wrong("%q is unknown: use one of %s", strings.TrimSpace(item), strings.Join(words, ", "))
		case v.CanUint():
			v.SetUint(v.Uint() | 1<<i)
		default:
			v.SetInt(int64(i))
		}
	}
	return nil
}
