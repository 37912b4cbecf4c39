package repair

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// violation is one error of the validator.
type violation struct {
	path     []string             // of the value
	kind     jsonschema.ErrorKind // what is wrong, with details
	node     *jsonschema.Schema   // the schema that is violated
	branches [][]violation        // violations in each branch of an anyOf or oneOf
}

// violations validates a value against a schema and returns all violations in a deterministic
// order.
func (s *Schema) violations(node *jsonschema.Schema, value any) []violation {
	err, _ := node.Validate(value).(*jsonschema.ValidationError)
	if err == nil {
		return nil
	}
	return ordered(s.flatten(nil, err, value))
}

// ordered sorts violations and removes duplicates.
func ordered(list []violation) []violation {
	sorting.Stable(list, violation.compare)
	return slices.CompactFunc(list, func(a, b violation) bool {
		return a.node == b.node && slices.Equal(a.path, b.path) && a.compare(b) == 0
	})
}

func (v violation) compare(w violation) int {
	if n := slices.CompareFunc(v.path, w.path, comparePart); n != 0 {
		return n
	}
	if n := strings.Compare(fmt.Sprintf("%T", v.kind), fmt.Sprintf("%T", w.kind)); n != 0 {
		return n
	}
	if n := strings.Compare(v.node.Location, w.node.Location); n != 0 {
		return n
	}
	return strings.Compare(fmt.Sprint(v.kind), fmt.Sprint(w.kind)) // of two keys, in the order of a map
}

// maxViolations limits the violations that are repaired. A call with more of them is not just
// misspelled.
const maxViolations = 1000

// weigh counts violations, including those inside branches.
func weigh(list []violation) int {
	n := len(list)
	for _, v := range list {
		if k, ok := v.kind.(*kind.AdditionalProperties); ok {
			n += len(k.Properties)
		}
		for _, branch := range v.branches {
			n += weigh(branch)
		}
	}
	return n
}

func comparePart(a, b string) int {
	if a >= ":" || b >= ":" { // no number, the usual case
		return strings.Compare(a, b)
	}
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return i - j
	}
	return strings.Compare(a, b)
}

// flatten extracts the violations from the library's tree.
func (s *Schema) flatten(list []violation, err *jsonschema.ValidationError, value any) []violation {
	at := violation{path: err.InstanceLocation, kind: err.ErrorKind, node: s.nodes[err.SchemaURL]}
	if at.node == nil {
		at.node = s.root
	}
	switch k := err.ErrorKind.(type) {
	case *kind.RefCycle:
		panic(overBudget("the schema refers to itself endlessly"))
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			list = s.flatten(list, cause, value)
		}
		return list
	case *kind.AnyOf, *kind.OneOf:
		for _, cause := range err.Causes {
			at.branches = append(at.branches, ordered(s.flatten(nil, cause, value)))
		}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.Required:
		slices.Sort(k.Missing)
	case *kind.PropertyNames:
		at.path = whereKey(value, nil, err.InstanceLocation, k.Property)
	}
	return append(list, at)
}

// whereKey returns the path of the object with a rejected key. The path that the library reports
// may have been overwritten.
func whereKey(value any, path, reported []string, key string) []string {
	if object, ok := lookup(value, reported).(map[string]any); ok {
		if _, has := object[key]; has {
			return slices.Clone(reported)
		}
	}
	var found []string
	walk(value, path, func(path []string, value any) {
		if object, ok := value.(map[string]any); ok && found == nil {
			if _, has := object[key]; has {
				found = slices.Clone(path)
			}
		}
	})
	return found
}

// missingKeys returns the keys that a violation says are missing, and the key that requires them if
// it is not always required.
func missingKeys(v violation) (keys []string, with string) {
	switch k := v.kind.(type) {
	case *kind.Required:
		return k.Missing, ""
	case *kind.DependentRequired:
		return k.Missing, k.Prop
	case *kind.Dependency:
		return k.Missing, k.Prop
	}
	return nil, ""
}

// lookup returns the value at a path, or nil.
func lookup(value any, path []string) any {
	for _, part := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// walk calls visit for a value and everything in it, with keys in order.
func walk(value any, path []string, visit func(path []string, value any)) {
	visit(path, value)
	switch v := value.(type) {
	case map[string]any:
		for _, key := range orderedKeys(v, nil) {
			walk(v[key], append(path, key), visit)
		}
	case []any:
		for i, item := range v {
			walk(item, append(path, strconv.Itoa(i)), visit)
		}
	}
}

// Path formats a path as items.0.id.
func Path(path []string) string {
	if len(path) == 0 {
		return "(root)"
	}
	parts := make([]string, len(path))
	for i, part := range path {
		if parts[i] = part; part == "" || strings.ContainsAny(part, ". \t\n\"") {
			parts[i] = strconv.Quote(part)
		}
	}
	return strings.Join(parts, ".")
}

// bounded shortens a text to n characters.
func bounded(text string, n int) string {
	count := 0
	for i := range text {
		if count++; count > n {
			return text[:i] + "…"
		}
	}
	return text
}
