package splice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

func values(m Map) []any {
	var items []any
	for _, member := range m {
		items = append(items, member.Value)
	}
	return items
}

func isContainer(v any) bool {
	switch v.(type) {
	case Map, []any:
		return true
	}
	return false
}

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
func plain(f Format, v any) (any, error) { return f.plain(v, 0) }

func (f Format) plain(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the new value is nested more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case Clock:
		if f != TOML || !tomlTime.MatchString(string(v)) {
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
			return nil, fmt.Errorf("the new value is not valid UTF-8")
		}
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case Map:
		m := make(Map, 0, len(v))
		seen := map[string]bool{}
		for _, member := range v {
			if seen[member.Name] || !utf8.ValidString(member.Name) {
				return nil, fmt.Errorf("the key %q of the new value is a duplicate or not valid UTF-8", member.Name)
			}
			seen[member.Name] = true
			value, err := f.plain(member.Value, depth+1)
			if err != nil {
				return nil, err
			}
			m = append(m, Member{member.Name, value})
		}
		return m, nil
	case []string:
		items := make([]any, 0, len(v))
		for _, item := range v {
			items = append(items, item)
		}
		return f.plain(items, depth)
	case []any:
		items := make([]any, 0, len(v))
		for _, item := range v {
			value, err := f.plain(item, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, value)
		}
		return items, nil
	}
	return nil, fmt.Errorf("a configuration file cannot contain a %T", v)
}

func (f Format) isNumber(text string) bool {
	switch f {
	case TOML:
		return tomlNumber.MatchString(text)
	case YAML:
		return yamlNumber.MatchString(text)
	}
	return jsonNumber.MatchString(text)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case Map:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
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
			if b[i].Name == m.Name {
				if !equal(m.Value, b[i].Value) {
					return false
				}
				continue
			}
			if index == nil {
				index = make(map[string]any, len(b))
				for _, other := range b {
					index[other.Name] = other.Value
				}
			}
			other, known := index[m.Name]
			if !known || !equal(m.Value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && a == b
	}
	switch b.(type) {
	case Map, []any:
		return false
	}
	return a == b
}
