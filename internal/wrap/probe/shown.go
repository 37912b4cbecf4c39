package probe

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Shown returns a tool's entry in a list for a person who decides about it: all that a model reads, on lines of its own,
// without escapes, and with what a terminal or dialog would not show made visible.
func Shown(entry []byte) string {
	value, ok := decoded(entry)
	if !ok {
		return plaintext.Visible(string(entry))
	}
	text, err := plaintext.EncodeJSON(value, "  ")
	if err != nil {
		return plaintext.Visible(string(entry))
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		words := strings.TrimLeft(line, " ")
		b.WriteString(line[:len(line)-len(words)] + plaintext.Visible(strings.TrimSuffix(words, "\n")) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// decoded returns a value in JSON. It reports false if the text is anything else, or has a name twice in an object.
func decoded(text []byte) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, false
	}
	return value, !repeats(json.NewDecoder(bytes.NewReader(text)))
}

// repeats reports whether an object in the next value of the decoder has a name twice.
func repeats(d *json.Decoder) bool {
	opening, err := d.Token()
	if err != nil {
		return true
	}
	kind, nested := opening.(json.Delim)
	if !nested {
		return false
	}
	names := map[any]bool{}
	for d.More() {
		if kind == '{' {
			name, err := d.Token()
			if err != nil || names[name] {
				return true
			}
			names[name] = true
		}
		if repeats(d) {
			return true
		}
	}
	_, err = d.Token()
	return err != nil
}
