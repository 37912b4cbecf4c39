package probe

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Shown returns a tool's entry in a list, or several, for a person who decides about it: all that a model reads, on lines of
// its own, without escapes, and with what a terminal or dialog would not show made visible.
func Shown(entries []byte) string {
	var text bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(entries))
	d.UseNumber()
	for d.More() {
		if spell(d, &text, "") != nil {
			return plaintext.Visible(string(entries))
		}
		text.WriteByte('\n')
	}
	if _, err := d.Token(); err != io.EOF {
		return plaintext.Visible(string(entries))
	}
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text.String())) {
		words := strings.TrimLeft(line, " ")
		b.WriteString(line[:len(line)-len(words)] + plaintext.Visible(strings.TrimSuffix(words, "\n")) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// spell writes the next value of the decoder as it is, also with names that occur twice.
func spell(d *json.Decoder, b *bytes.Buffer, indent string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	opening, nested := token.(json.Delim)
	if !nested {
		text, err := plaintext.EncodeJSON(token, "")
		b.Write(text)
		return err
	}
	b.WriteString(opening.String())
	separator := "\n  " + indent
	for d.More() {
		b.WriteString(separator)
		separator = ",\n  " + indent
		if opening == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			text, err := plaintext.EncodeJSON(name, "")
			if err != nil {
				return err
			}
			b.Write(append(text, ": "...))
		}
		if err := spell(d, b, indent+"  "); err != nil {
			return err
		}
	}
	if separator[0] == ',' {
		b.WriteString("\n" + indent)
	}
	closing, err := d.Token()
	if err != nil {
		return err
	}
	b.WriteString(closing.(json.Delim).String())
	return nil
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
