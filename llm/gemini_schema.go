package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// geminiKeywords are copied as they are. Others are translated, or dropped: the answer is validated
// against the original.
var geminiKeywords = []string{"title", "description", "minItems", "maxItems", "minProperties", "maxProperties",
	"minLength", "maxLength", "minimum", "maximum", "required"}

// geminiSchema translates a schema to Gemini's dialect of OpenAPI. ok is false if that would demand
// something different, as for an object with any keys.
func geminiSchema(raw json.RawMessage) (schema map[string]any, ok bool) {
	var root map[string]any
	if json.Unmarshal(raw, &root) != nil {
		return nil, false
	}
	return translate(root, root, 0)
}

func translate(from, root map[string]any, depth int) (to map[string]any, ok bool) {
	if depth > 20 { // a reference to itself, perhaps
		return nil, false
	}
	if ref, isRef := from["$ref"].(string); isRef {
		target, found := definition(ref, root)
		if !found {
			return nil, false
		}
		return translate(target, root, depth+1)
	}
	to = map[string]any{}
	for _, name := range geminiKeywords {
		if value, set := from[name]; set {
			to[name] = value
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, set := from[name].([]any); set {
			if to["anyOf"], ok = translateAll(list, root, depth); !ok {
				return nil, false
			}
			return to, true
		}
	}
	if !translateType(from, to) || !translateChoices(from, to) {
		return nil, false
	}
	return to, translateInner(from, to, root, depth)
}

// definition returns the schema that a reference points to.
func definition(ref string, root map[string]any) (map[string]any, bool) {
	for _, place := range []string{"$defs", "definitions"} {
		if name, ok := strings.CutPrefix(ref, "#/"+place+"/"); ok {
			group, _ := root[place].(map[string]any)
			target, found := group[name].(map[string]any)
			return target, found
		}
	}
	return nil, false
}

func translateAll(list []any, root map[string]any, depth int) (all []any, ok bool) {
	for _, item := range list {
		from, isSchema := item.(map[string]any)
		if !isSchema {
			return nil, false
		}
		to, ok := translate(from, root, depth+1)
		if !ok {
			return nil, false
		}
		all = append(all, to)
	}
	return all, len(all) > 0
}

// translateType sets the type. A list of types may only add null.
func translateType(from, to map[string]any) bool {
	var types []any
	switch value := from["type"].(type) {
	case string:
		types = []any{value}
	case []any:
		types = slices.Clone(value)
	}
	if i := slices.Index(types, any("null")); i >= 0 && len(types) == 2 {
		to["nullable"] = true
		types = slices.Delete(types, i, i+1)
	}
	if len(types) != 1 {
		return false
	}
	name, _ := types[0].(string)
	to["type"] = strings.ToUpper(name)
	return slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, name)
}

// translateChoices sets the choices, which are strings in Gemini.
func translateChoices(from, to map[string]any) bool {
	choices, ok := from["enum"].([]any)
	if constant, set := from["const"]; set {
		choices, ok = []any{constant}, true
	}
	if !ok {
		return true
	}
	for _, choice := range choices {
		if _, isString := choice.(string); !isString {
			delete(to, "enum") // the type remains, and the answer is validated
			return true
		}
	}
	to["enum"] = choices
	return to["type"] == "STRING"
}

// translateInner sets the schemas of elements and properties.
func translateInner(from, to, root map[string]any, depth int) (ok bool) {
	switch to["type"] {
	case "ARRAY":
		items, isSchema := from["items"].(map[string]any)
		if !isSchema {
			return false
		}
		to["items"], ok = translate(items, root, depth+1)
		return ok
	case "OBJECT":
		properties, _ := from["properties"].(map[string]any)
		if len(properties) == 0 { // any keys
			return false
		}
		translated := map[string]any{}
		for name, property := range properties {
			inner, isSchema := property.(map[string]any)
			if !isSchema {
				return false
			}
			if translated[name], ok = translate(inner, root, depth+1); !ok {
				return false
			}
		}
		to["properties"] = translated
	}
	return true
}
