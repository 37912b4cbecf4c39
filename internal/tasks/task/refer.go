package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// reference is ${id.text}, ${id.json.path} or, inside a loop, ${item.path}.
type reference struct {
	source string   // as it was written, for messages
	id     string   // of a step, or the name of a loop's item
	part   string   // text or json; empty for an item
	path   []string // keys and indexes
}

// part is a piece of a string: literal text or a reference.
type part struct {
	text string
	ref  *reference
}

// scope says what a reference may refer to at a step: the results of earlier steps and the item of
// its own loop.
type scope struct {
	steps []string // earlier steps
	later []string // this step and later ones
	item  string   // empty outside of a loop
}

// splitText splits a string into literal text and references. $${ is a literal ${.
func splitText(text string, in scope) ([]part, error) {
	var parts []part
	literal := ""
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			break
		}
		if at > 0 && text[at-1] == '$' {
			literal += text[:at-1] + "${"
			text = text[at+2:]
			continue
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return nil, fmt.Errorf("the reference %s has no closing brace: use ${id.text} or ${id.json.path}, or $${ for a literal ${", redact.Quote(text[at:]))
		}
		ref, err := parseReference(text[at:at+end+1], in)
		if err != nil {
			return nil, err
		}
		if literal += text[:at]; literal != "" {
			parts = append(parts, part{text: literal})
		}
		parts, literal, text = append(parts, part{ref: ref}), "", text[at+end+1:]
	}
	if literal += text; literal != "" || parts == nil {
		parts = append(parts, part{text: literal})
	}
	return parts, nil
}

// parseReference parses one reference, with its braces.
func parseReference(source string, in scope) (*reference, error) {
	shown := redact.Quote(source)
	words := strings.Split(strings.TrimSpace(source[2:len(source)-1]), ".")
	if slices.ContainsFunc(words, func(w string) bool { return strings.TrimSpace(w) != w || w == "" || strings.ContainsAny(w, "${[]") }) {
		return nil, fmt.Errorf("malformed reference %s: use ${id.text}, ${id.json} or ${id.json.path}, with keys and indexes separated by dots", shown)
	}
	ref := &reference{source: source, id: words[0]}
	switch {
	case in.item != "" && ref.id == in.item:
		ref.path = words[1:]
		return ref, nil
	case slices.Contains(in.later, ref.id):
		return nil, fmt.Errorf("%s refers to step %q, which has not run yet at this point: move that step before this one", shown, ref.id)
	case !slices.Contains(in.steps, ref.id):
		return nil, fmt.Errorf("%s refers to step %q, which does not exist%s", shown, redact.Quote(ref.id), document.DidYouMean(ref.id, append(slices.Clone(in.steps), in.item)))
	case len(words) == 1:
		return nil, fmt.Errorf("%s does not specify a part of the result: use ${%s.text} or ${%s.json}", shown, ref.id, ref.id)
	}
	ref.part, ref.path = words[1], words[2:]
	switch {
	case ref.part != "text" && ref.part != "json":
		return nil, fmt.Errorf("%s: a result has only text and json, not %q%s", shown, redact.Quote(ref.part), document.DidYouMean(ref.part, []string{"text", "json"}))
	case ref.part == "text" && len(ref.path) > 0:
		return nil, fmt.Errorf("%s: text has no parts: use ${%s.text} or ${%s.json.%s}", shown, ref.id, ref.id, strings.Join(ref.path, "."))
	}
	return ref, nil
}

// values gives references their values.
type values struct {
	results map[string]*Result
	current any // the loop's item
}

// errMissing is the reason that exists reports as false.
var errMissing = errors.New("no value")

// of returns the value of a reference. The error wraps errMissing if there is none.
func (v values) of(ref *reference) (any, error) {
	value := v.current
	if ref.part != "" {
		result := v.results[ref.id]
		if result == nil {
			return nil, fmt.Errorf("%s has %w: step %q was skipped or failed, or its result is unknown", ref.source, errMissing, ref.id)
		}
		if ref.part == "text" {
			return result.text()
		}
		var err error
		if value, err = result.json(); err != nil {
			return nil, fmt.Errorf("%s has %w: %v", ref.source, errMissing, err)
		}
	}
	for i := 0; i < len(ref.path); {
		key := ref.path[i]
		next, used := memberAt(value, ref.path[i:])
		if used == 0 {
			return nil, fmt.Errorf("%s has %w: %s has no %q%s", ref.source, errMissing, strings.Join(append([]string{ref.start()}, ref.path[:i]...), "."), key, keysOf(value, key))
		}
		value = next
		i += used
	}
	return value, nil
}

// memberAt returns the value at the first words of a path, and how many these are: one, or those of
// a key that contains dots; 0 if nothing is there.
func memberAt(value any, path []string) (next any, used int) {
	for used = 1; used <= len(path); used++ {
		if next, ok := member(value, strings.Join(path[:used], ".")); ok {
			return next, used
		}
	}
	return nil, 0
}

func (r *reference) start() string {
	if r.part == "" {
		return r.id
	}
	return r.id + "." + r.part
}

// member returns the value at a key or an index.
func member(value any, key string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		found, ok := value[key]
		return found, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(value) {
			return nil, false
		}
		return value[i], true
	}
	return nil, false
}

// keysOf says what a value has instead of the key.
func keysOf(value any, key string) string {
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for k := range value {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		return document.DidYouMean(key, keys)
	case []any:
		return fmt.Sprintf("; it is a list of %d items", len(value))
	case nil:
		return "; it is null"
	}
	return ""
}

// fill returns text with its references replaced. A string that is one reference keeps the type of
// its value.
func (v values) fill(text string, in scope) (any, error) {
	parts, err := splitText(text, in)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 && parts[0].ref != nil {
		return v.of(parts[0].ref)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.ref == nil {
			b.WriteString(p.text)
			continue
		}
		value, err := v.of(p.ref)
		if err != nil {
			return nil, err
		}
		b.WriteString(inline(value))
	}
	return b.String(), nil
}

// inline returns a value as part of a string.
func inline(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := plaintext.EncodeJSON(value, "")
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// fillAll returns a JSON value with the references in all its strings replaced.
func (v values) fillAll(value any, in scope) (any, error) {
	switch value := value.(type) {
	case string:
		return v.fill(value, in)
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, key := range sortedKeys(value) {
			filled, err := v.fillAll(value[key], in)
			if err != nil {
				return nil, err
			}
			out[key] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			filled, err := v.fillAll(item, in)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return value, nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// decode decodes JSON and keeps numbers as they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}
