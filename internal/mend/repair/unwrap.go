package repair

import (
	"slices"
	"strings"
)

// unwrap extracts the arguments from what a model wrapped them in: a string, an array of one, or an
// object with a single key that the tool does not declare.
func (e *editor) unwrap(violations []violation) bool {
	if e.depth > 0 || !slices.ContainsFunc(violations, func(v violation) bool { return len(v.path) == 0 }) {
		return false
	}
	switch v := e.value.(type) {
	case string:
		if inner, ok := opened(v); ok && isObject(inner.value) {
			learn(e.rank, inner)
			return e.set(nil, v, inner.value, RuleEncodedTwice, inner.tier(Silent))
		}
	case []any:
		if len(v) == 1 && isObject(v[0]) {
			return e.set(nil, v, v[0], RuleOneElement, Told)
		}
	case map[string]any:
		return e.unwrapObject(v)
	}
	return false
}

func (e *editor) unwrapObject(object map[string]any) bool {
	if len(object) == 2 {
		return e.unwrapCall(object)
	}
	if len(object) != 1 {
		return false
	}
	declared := e.schema.properties(nil)
	for key, value := range object {
		if declared[key] != nil {
			return false
		}
		tier, ok := wrappers[foldKey(key)]
		if key == e.options.Tool {
			tier, ok = Silent, true
		}
		if !ok && (hasContrary(key) || !e.schema.areArguments(value)) {
			return false // the key may change the meaning, as not or exclude would
		}
		if !ok {
			tier = Told
		}
		return e.unwrapTo(object, value, tier)
	}
	return false
}

// unwrapTo replaces all arguments with an object, or with the object that a string contains.
func (e *editor) unwrapTo(object map[string]any, value any, tier Tier) bool {
	if text, ok := value.(string); ok {
		doc, ok := opened(text)
		if !ok {
			return false
		}
		learn(e.rank, doc)
		value, tier = doc.value, doc.tier(tier)
	}
	return isObject(value) && e.set(nil, object, value, RuleWrapped, tier)
}

// areArguments reports whether an object has all required keys and only declared ones.
func (s *Schema) areArguments(value any) bool {
	object, _ := value.(map[string]any)
	declared := s.properties(nil)
	for key := range object {
		if declared[key] == nil {
			return false
		}
	}
	d := gather(s.root)
	return len(object) > 0 && !slices.ContainsFunc(d.required(), func(key string) bool { _, there := object[key]; return !there })
}

// unwrapCall extracts the arguments from a whole call of this tool, {"name": ..., "arguments": ...}.
func (e *editor) unwrapCall(object map[string]any) bool {
	declared := e.schema.properties(nil)
	name, arguments, found, nameKey := any(nil), any(nil), 0, ""
	for key, value := range object {
		switch foldKey(key) {
		case "name", "tool", "toolname", "function", "functionname":
			name, nameKey = value, key
			found++
		case "arguments", "args", "parameters", "params", "input", "kwargs":
			arguments = value
			found++
			if declared[key] != nil {
				return false
			}
		}
	}
	if inner, _ := arguments.(map[string]any); declared[nameKey] != nil && inner[nameKey] == nil {
		return false // the name may be an argument itself
	}
	isCall := found == 2 && name == e.options.Tool && name != "" && arguments != nil
	if !isCall || !e.unwrapTo(object, arguments, Silent) {
		return false
	}
	e.released = append(e.released, name)
	return true
}

// wrappers are the names that models use for the arguments as a whole.
var wrappers = map[string]Tier{"arguments": Silent, "args": Silent, "params": Silent, "input": Silent, "parameters": Silent,
	"kwargs": Silent, "toolinput": Silent, "toolarguments": Silent, "properties": Silent,
	"data": Told, "body": Told, "payload": Told, "request": Told, "json": Told}

// learn adds the keys of a decoded string to the order of keys.
func learn(rank map[string]int, doc document) {
	for _, key := range orderedRank(doc.rank) {
		if _, known := rank[key]; !known {
			rank[key] = len(rank)
		}
	}
}

func orderedRank(rank map[string]int) []string {
	keys := make([]string, len(rank))
	for key, i := range rank {
		keys[i] = key
	}
	return keys
}

// opened decodes a string that contains an array or an object.
func opened(text string) (document, bool) {
	if !looksLikeContainer(text) {
		return document{}, false
	}
	doc, err := decodeLoosely(text)
	return doc, err == nil && doc.twice == "" && isContainer(doc.value)
}

// openedValue decodes a value that is a string with an array or an object.
func openedValue(value any) (any, bool) {
	text, _ := value.(string)
	doc, ok := opened(text)
	return doc.value, ok
}

// tier returns the tier of reading a string as this document.
func (d document) tier(least Tier) Tier {
	if d.uncertain() {
		return Told
	}
	return least
}

func looksLikeContainer(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.IndexByte("[{(`", text[0]) >= 0
}

func isObject(value any) bool { _, ok := value.(map[string]any); return ok }

func isList(value any) bool { _, ok := value.([]any); return ok }

func isContainer(value any) bool { return isObject(value) || isList(value) }
