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
func (s *Schema) Describe(arguments []byte) (described json.RawMessage) {
	defer func() {
		if recover() != nil { // no schema may prevent a question
			described = json.RawMessage(`{}`)
		}
	}()
	return s.Ready().describe(arguments)
}

func (s *Schema) describe(arguments []byte) json.RawMessage {
	if doc, err := decode(string(s.raw)); err == nil {
		whole := encode(mapped(withoutExamples(doc.value), func(text string) string { return redact.Text(visible(text)) }), doc.rank)
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
	for _, key := range s.relevant(arguments) {
		for _, detailed := range []bool{true, false} {
			properties[key] = s.document(key, 2*order(detailed), detailed)
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
	data, err := marshal(described)
	if err != nil || len(data) > maxDescribed {
		return json.RawMessage(`{}`)
	}
	return data
}

// withoutExamples returns a schema without values for secrets, such as a default password.
func withoutExamples(schema any) any {
	shown := clone(schema)
	walk(schema, nil, func(path []string, value any) {
		text, ok := scalarText(value)
		for i := 0; ok && i+2 < len(path); i++ {
			if path[i] == "properties" && exampleKeywords[path[i+2]] && secretName(bounded(path[i+1], 200), text) {
				shown = replaced(shown, path, maskText)
				return
			}
		}
	})
	return shown
}

var exampleKeywords = map[string]bool{"default": true, "example": true, "examples": true}

// relevant returns the declared arguments: wrong and missing ones first, then those that were sent,
// then the required ones, then the rest.
func (s *Schema) relevant(arguments []byte) []string {
	doc, _, _ := s.decodeSent(arguments)
	object, _ := doc.value.(map[string]any)
	wrong := map[string]bool{}
	var list []violation
	s.session(func() { list = s.violations(s.root, doc.value) })
	for _, v := range list {
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
