package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parsed decodes JSON and keeps numbers as they are written; nil if it is not JSON.
func parsed(raw []byte) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// matches reports whether a value fits a schema. It is a small check of the keywords that the corpus
// uses, independent of the validator that is measured.
func matches(schema, value any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if types, there := s["type"]; there && !slices.ContainsFunc(asList(types), func(name any) bool { return hasType(value, name) }) {
		return false
	}
	if choices, there := s["enum"].([]any); there && !slices.ContainsFunc(choices, func(choice any) bool { return isChoice(value, choice) }) {
		return false
	}
	if branches, there := s["anyOf"].([]any); there && !slices.ContainsFunc(branches, func(branch any) bool { return matches(branch, value) }) {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		return objectMatches(s, v)
	case []any:
		items, there := s["items"]
		return !there || !slices.ContainsFunc(v, func(item any) bool { return !matches(items, item) })
	case json.Number:
		return inRange(s, v)
	case string:
		return hasForm(s, v)
	}
	return true
}

// hasForm reports whether a string has the length and the pattern that a schema wants.
func hasForm(s map[string]any, text string) bool {
	length := json.Number(strconv.Itoa(utf8.RuneCountInString(text)))
	pattern, _ := s["pattern"].(string)
	form, err := regexp.Compile(pattern)
	return inRange(map[string]any{"minimum": s["minLength"], "maximum": s["maxLength"]}, length) && (err != nil || form.MatchString(text))
}

func objectMatches(s, object map[string]any) bool {
	for _, key := range asList(s["required"]) {
		if name, ok := key.(string); ok && !hasKey(object, name) {
			return false
		}
	}
	declared, _ := s["properties"].(map[string]any)
	for key, value := range object {
		property, there := declared[key]
		if !there {
			if property = s["additionalProperties"]; property == false {
				return false
			}
		}
		if !matches(property, value) {
			return false
		}
	}
	return true
}

func inRange(s map[string]any, n json.Number) bool {
	if least, ok := s["minimum"].(json.Number); ok && number(n) < number(least) {
		return false
	}
	most, ok := s["maximum"].(json.Number)
	return !ok || number(n) <= number(most)
}

func hasKey(object map[string]any, key string) bool {
	_, there := object[key]
	return there
}

// asList returns a list, or a list of the only value; nil if there is none.
func asList(value any) []any {
	if list, ok := value.([]any); ok || value == nil {
		return list
	}
	return []any{value}
}

func number(n json.Number) float64 {
	f, _ := n.Float64()
	return f
}

func isInteger(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }

func hasType(value, name any) bool {
	switch name {
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "integer":
		n, ok := value.(json.Number)
		return ok && (isInteger(n) || number(n) == float64(int64(number(n))))
	case "number":
		_, ok := value.(json.Number)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	case "object":
		_, ok := value.(map[string]any)
		return ok
	case "null":
		return value == nil
	}
	return true
}

// isChoice reports whether a value is one of an enum: 1 and 1.0 are different.
func isChoice(value, choice any) bool {
	a, okA := value.(json.Number)
	b, okB := choice.(json.Number)
	if okA && okB {
		return isInteger(a) == isInteger(b) && number(a) == number(b)
	}
	return reflect.DeepEqual(value, choice)
}

var lightPunctuation = strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "", "'", `"`)

// folded returns text without case, blanks and light punctuation.
func folded(text string) string { return strings.ToLower(lightPunctuation.Replace(text)) }

// agrees reports whether a value is the wanted one. The values of a wanted object are lists of
// accepted values, in which "" means that the key may be absent.
func agrees(got, want any) bool {
	switch w := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		return ok && number(g) == number(w)
	case string:
		g, ok := got.(string)
		return ok && folded(g) == folded(w)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, agrees)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && agreeObjects(g, w)
	}
	return got == want // booleans and null
}

func agreeObjects(got, want map[string]any) bool {
	for key, value := range got {
		wanted, there := want[key]
		if !there {
			return false
		}
		options, isList := wanted.([]any)
		if !isList {
			options = []any{wanted}
		}
		if !slices.ContainsFunc(options, func(option any) bool { return agrees(value, option) }) && !agrees(value, wanted) {
			return false
		}
	}
	for key, options := range want {
		if !hasKey(got, key) && !slices.Contains(textsOf(options), "") {
			return false
		}
	}
	return true
}

// textsOf returns the strings of a list.
func textsOf(value any) (texts []string) {
	list, _ := value.([]any)
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// accepts reports whether arguments are an accepted answer: one of a list, or an object with a list
// of accepted values for every key.
func accepts(accept any, args map[string]any) bool {
	if list, ok := accept.([]any); ok {
		return slices.ContainsFunc(list, func(option any) bool { return exact(option) == exact(args) })
	}
	wanted, _ := accept.(map[string]any)
	for key, value := range args {
		options, _ := wanted[key].([]any)
		if !slices.ContainsFunc(options, func(option any) bool { return agrees(value, option) }) {
			return false
		}
	}
	for key, options := range wanted {
		if !hasKey(args, key) && !slices.Contains(textsOf(options), "") {
			return false
		}
	}
	return true
}

// exact encodes a value so that equal values have equal texts.
func exact(value any) string {
	text, _ := json.Marshal(uniform(value)) // decoded from JSON: cannot fail
	return string(text)
}

// uniform writes fractions in one form.
func uniform(value any) any {
	switch v := value.(type) {
	case json.Number:
		if !isInteger(v) {
			return json.Number(strconv.FormatFloat(number(v), 'e', -1, 64))
		}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = uniform(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = uniform(item)
		}
		return object
	}
	return value
}
