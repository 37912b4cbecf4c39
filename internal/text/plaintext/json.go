package plaintext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// EncodeJSON returns a value as JSON that is safe to show: characters that are invisible or change
// how their neighbors are shown (C1 controls, bidi, zero width) are written as \uXXXX. It decodes
// to the same value. HTML characters stay readable, and indent may be empty.
func EncodeJSON(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return escapeUnseen(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// WriteJSON writes what a program asked for with --json: EncodeJSON, on one line.
func WriteJSON(w io.Writer, value any) error {
	text, err := EncodeJSON(value, "")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// escapeUnseen escapes unseen characters in JSON, which contains them only inside strings. Newlines
// stay: outside of strings they are indentation, and inside they are already escaped.
func escapeUnseen(text []byte) []byte {
	if bytes.IndexFunc(text, escapes) < 0 {
		return text
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !escapes(r):
			b.Write(text[:size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.Bytes()
}

func escapes(r rune) bool { return r != '\n' && Unseen(r) }
