package repair

import (
	"encoding/json"
	"strings"
)

// ReadObject returns the JSON object in a model's answer, which may be in a code fence or between
// sentences.
func ReadObject(answer []byte) (map[string]json.RawMessage, bool) {
	text := string(answer)
	doc, err := decode(text)
	if err != nil {
		doc, err = decodeLoosely(text)
	}
	if from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}'); err != nil && from >= 0 && to > from {
		doc, err = decode(text[from : to+1])
	}
	object, ok := doc.value.(map[string]any)
	if err != nil || !ok || doc.twice != "" {
		return nil, false
	}
	fields := make(map[string]json.RawMessage, len(object))
	for key, value := range object {
		fields[key] = encode(value, doc.rank)
	}
	return fields, true
}

// IssueLines returns what is wrong with the arguments of a call, one issue a line, secrets masked.
func (s *Schema) IssueLines(arguments []byte) (lines []string) {
	defer func() {
		if recover() != nil { // no schema may prevent a question
			lines = nil
		}
	}()
	out := s.Arguments(arguments, Options{})
	if out.Verdict != Refused || out.unreadable != "" {
		return nil
	}
	for _, issue := range s.find(out.sent, out.violations, s.masker(out.sent)).issues(nil) {
		if len(lines) < maxIssues {
			lines = append(lines, bounded(issue.line, 300))
		}
	}
	return lines
}

// Outline returns the schema of the arguments in the keywords that every provider of models accepts:
// types, properties, items and choices. Everything else is left open.
func (s *Schema) Outline() json.RawMessage {
	whole := map[string]any{"type": "object"}
	if doc, err := decode(string(s.Ready().raw)); err == nil && s.why == "" && len(s.raw) <= maxDescribed {
		if outlined, ok := outline(doc.value, 0).(map[string]any); ok && outlined["type"] == "object" {
			whole = outlined
		}
	}
	return encode(whole, nil)
}

const maxOutlined = 4 // levels of an outline

func outline(value any, depth int) any {
	schema, ok := value.(map[string]any)
	kind, isText := schema["type"].(string)
	if !ok || !isText || depth > maxOutlined {
		return map[string]any{}
	}
	made := map[string]any{"type": kind}
	properties, _ := schema["properties"].(map[string]any)
	if kind == "object" && len(properties) > 0 {
		inner := map[string]any{}
		for key, child := range properties {
			inner[key] = outline(child, depth+1)
		}
		made["properties"] = inner
	}
	if items, ok := schema["items"].(map[string]any); ok && kind == "array" {
		made["items"] = outline(items, depth+1)
	}
	if choices, ok := schema["enum"].([]any); ok && kind == "string" {
		for _, choice := range choices {
			if text, ok := choice.(string); !ok || text == "" || looksSecret(text) {
				return made
			}
		}
		made["enum"] = choices
	}
	return made
}

// MapStrings returns JSON in which each string that is not a key is replaced by f.
func MapStrings(raw json.RawMessage, f func(string) string) json.RawMessage {
	doc, err := decode(string(raw))
	if err != nil {
		return json.RawMessage("null")
	}
	return encode(mapped(doc.value, f), doc.rank)
}

func mapped(value any, f func(string) string) any {
	switch v := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = mapped(item, f)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = mapped(item, f)
		}
		return list
	case string:
		return f(v)
	}
	return value
}
