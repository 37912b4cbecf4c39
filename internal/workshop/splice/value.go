package splice

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// filledWith returns new members of a map as they are, and new items of a list without their names.
func (n *node) filledWith(fresh Map) any {
	if n.kind != ListKind {
		return fresh
	}
	var items []any
	for _, member := range fresh {
		items = append(items, member.Value)
	}
	return items
}

func isContainer(v any) bool { return kindOf(v) >= ListKind }

func kindOf(v any) Kind {
	switch v.(type) {
	case bool:
		return BoolKind
	case json.Number:
		return NumberKind
	case string:
		return StringKind
	case Clock:
		return TimeKind
	case []any:
		return ListKind
	case Map:
		return MapKind
	}
	return NullKind
}

// plain converts a value to one of the types that Value returns.
func plain(f Format, v any) (any, error) {
	switch v := v.(type) {
	case nil:
		if f == TOML {
			return nil, errors.New("TOML does not support null")
		}
		return nil, nil
	case bool:
		return v, nil
	case Clock:
		if f != TOML || tomlKind(string(v)) != TimeKind {
			return nil, fmt.Errorf("%q is not a date or time in %s", v, f)
		}
		return v, nil
	case json.Number:
		if !f.isNumber(string(v)) {
			return nil, fmt.Errorf("%q is not a number in %s", v, f)
		}
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.New("the new value is not valid UTF-8")
		}
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case Map:
		return plainMap(f, v)
	case []string:
		items := make([]any, 0, len(v))
		for _, item := range v {
			items = append(items, item)
		}
		return plain(f, items)
	case []any:
		items := make([]any, 0, len(v))
		for _, item := range v {
			value, err := plain(f, item)
			if err != nil {
				return nil, err
			}
			items = append(items, value)
		}
		return items, nil
	}
	return nil, fmt.Errorf("a configuration file cannot contain a %T", v)
}

func plainMap(f Format, v Map) (any, error) {
	m := make(Map, 0, len(v))
	seen := map[string]bool{}
	for _, member := range v {
		value, err := plain(f, member.Value)
		switch {
		case err != nil:
			return nil, err
		case seen[member.Name] || !utf8.ValidString(member.Name):
			return nil, fmt.Errorf("the key %q in the new value is a duplicate or not valid UTF-8", member.Name)
		}
		seen[member.Name] = true
		m = append(m, Member{member.Name, value})
	}
	return m, nil
}

func (f Format) isNumber(text string) bool {
	switch f {
	case TOML:
		return tomlKind(text) == NumberKind
	case YAML:
		return yamlNumber.MatchString(text)
	}
	return jsonNumber.MatchString(text)
}

func isEmpty(v any) bool {
	m, _ := v.(Map)
	items, _ := v.([]any)
	return isContainer(v) && len(m)+len(items) == 0
}

// nest wraps a value in the maps and lists of a path.
func nest(path []any, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		if name, isName := path[i].(string); isName {
			value = Map{{name, value}}
		} else {
			value = []any{value}
		}
	}
	return value
}

// equal compares plain values, ignoring the order of members.
func equal(a, b any) bool {
	switch a := a.(type) {
	case Map:
		b, ok := b.(Map)
		if !ok || len(a) != len(b) {
			return false
		}
		var index map[string]any
		for i, m := range a {
			other := b[i].Value
			if b[i].Name != m.Name {
				if index == nil {
					index = make(map[string]any, len(b))
					for _, other := range b {
						index[other.Name] = other.Value
					}
				}
				if other, ok = index[m.Name]; !ok {
					return false
				}
			}
			if !equal(m.Value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return a == b
}
