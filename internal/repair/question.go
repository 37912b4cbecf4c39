package repair

import (
	"encoding/json"
	"slices"

	"github.com/gauze-mcp/gauze/internal/redact"
)

// maxDescribed limits the description of a schema, in bytes.
const maxDescribed = 4 << 10

// Describe returns the part of the schema that a correction of a call needs, as JSON: all of it if it
// is short, and otherwise the arguments that are wrong or required first.
func (s *Schema) Describe(arguments []byte) json.RawMessage {
	s.Ready()
	if doc, err := decode(string(s.raw)); err == nil {
		whole := encode(redacted(doc.value), doc.rank)
		if len(whole) <= maxDescribed {
			return whole
		}
	}
	if s.root == nil {
		return json.RawMessage(`{}`)
	}
	required := []any{}
	properties := map[string]any{}
	described := map[string]any{"type": "object", "properties": properties, "required": required}
	s.session(func() {
		for _, key := range s.relevant(arguments) {
			for _, detailed := range []bool{true, false} {
				properties[key] = s.document(key, word2(detailed, 2, 0), detailed)
				described["required"] = required
				if s.needs(nil, key) {
					described["required"] = append(slices.Clone(required), key)
				}
				if data, err := marshal(described); err == nil && len(data) <= maxDescribed {
					required = described["required"].([]any)
					break
				}
				delete(properties, key)
				described["required"] = required
			}
		}
	})
	data, err := marshal(described)
	if err != nil || len(data) > maxDescribed {
		return json.RawMessage(`{}`)
	}
	return data
}

func word2(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

// relevant returns the declared arguments: wrong and missing ones first, then those that were sent,
// then the required ones, then the rest.
func (s *Schema) relevant(arguments []byte) []string {
	doc, _ := s.decodeSent(arguments)
	object, _ := doc.value.(map[string]any)
	wrong := map[string]bool{}
	for _, v := range s.violations(s.root, doc.value) {
		if keys, _ := missingKeys(v); len(v.path) == 0 {
			for _, key := range keys {
				wrong[key] = true
			}
		} else {
			wrong[v.path[0]] = true
		}
	}
	rank := func(key string) int {
		_, sent := object[key]
		switch {
		case wrong[key]:
			return 0
		case sent:
			return 1
		case s.needs(nil, key):
			return 2
		}
		return 3
	}
	names := s.argumentNames()
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names[:min(len(names), maxDocumented)]
}

// redacted returns a copy of a value whose strings contain no secrets.
func redacted(value any) any {
	switch v := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = redacted(item)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = redacted(item)
		}
		return list
	case string:
		return redact.Text(visible(v))
	}
	return value
}
