package repair

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// encode writes a value as compact JSON. Keys are in the order in which the caller wrote them; new
// keys follow, sorted by name.
func encode(value any, rank map[string]int) []byte {
	var b bytes.Buffer
	write(&b, value, rank)
	return b.Bytes()
}

func write(b *bytes.Buffer, value any, rank map[string]int) {
	switch v := value.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, key := range orderedKeys(v, rank) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeScalar(b, key)
			b.WriteByte(':')
			write(b, v[key], rank)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item, rank)
		}
		b.WriteByte(']')
	case json.Number:
		b.WriteString(v.String())
	default:
		writeScalar(b, v)
	}
}

func writeScalar(b *bytes.Buffer, value any) {
	if text, ok := value.(string); ok && isPlain(text) {
		b.WriteByte('"')
		b.WriteString(text)
		b.WriteByte('"')
		return
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) == nil {
		b.Truncate(b.Len() - 1) // the encoder's newline
	}
}

// isPlain reports whether a string needs no escapes in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if isASCII := text[i] >= ' ' && text[i] < 0x7f; !isASCII || text[i] == '"' || text[i] == '\\' {
			return false
		}
	}
	return true
}

func orderedKeys(object map[string]any, rank map[string]int) []string {
	keys := slices.AppendSeq(make([]string, 0, len(object)), maps.Keys(object))
	slices.SortFunc(keys, func(a, b string) int {
		i, okA := rank[a]
		j, okB := rank[b]
		switch {
		case okA && okB:
			return i - j
		case okA:
			return -1
		case okB:
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}

// clone copies the parts of a value that a repair may change.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = clone(item)
		}
		return object
	case []any:
		array := make([]any, len(v))
		for i, item := range v {
			array[i] = clone(item)
		}
		return array
	}
	return value
}
