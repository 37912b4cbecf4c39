package proxy

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// disown returns a message from the server without the marks that identify gauze's own texts, so
// that the two cannot be confused. If the server is itself wrapped by gauze, its marks are renamed
// as well.
//
//	keys of _meta           io.github.gauze-mcp/x becomes io.github.gauze-mcp.upstream/x
//	data.source of errors   "gauze" becomes "gauze.upstream"; the code stays
//	text for a model        a line that begins with [gauze: or [gauze] begins with "server: "
//
// Every other byte stays as it is. So does the output that a tool defines itself
// (structuredContent), which is data.
func disown(m *wire.Message) *wire.Message {
	if !mentionsGauze(m.Raw) {
		return m
	}
	var line []byte
	done := 0
	wire.Walk(m.Raw, func(path [][]byte, raw []byte, at int, key bool) {
		if replacement := disownString(path, raw, key); replacement != nil {
			line = append(append(line, m.Raw[done:at]...), replacement...)
			done = at + len(raw)
		}
	})
	if done == 0 {
		return m
	}
	changed, _, err := wire.Scan(append(line, m.Raw[done:]...))
	if err != nil {
		return m // cannot happen: strings were replaced by strings
	}
	changed.Via, changed.Status = m.Via, m.Status
	return &changed
}

// mentionsGauze reports whether JSON may contain the word gauze: in any case, with escaped letters,
// or with invisible characters in it. It runs for every message.
func mentionsGauze(text []byte) bool {
	for _, z := range [...]byte{'z', 'Z'} { // the rarest letter
		for i := 0; ; i++ {
			n := bytes.IndexByte(text[i:], z)
			if n < 0 {
				break
			}
			if i += n; mayBeGauze(text, i) {
				return true
			}
		}
	}
	escape := []byte(`\u00`)
	for i := 0; ; i += len(escape) {
		n := bytes.Index(text[i:], escape)
		if n < 0 {
			return false
		}
		if i += n; i+len(escape) < len(text) && '4' <= text[i+4] && text[i+4] <= '7' { // a letter
			return true
		}
	}
}

// mayBeGauze reports whether the z at i may be the one of gauze. Escapes and non-ASCII characters
// may be invisible, so they end the comparison.
func mayBeGauze(text []byte, i int) bool {
	if i+1 >= len(text) || text[i+1]|0x20 != 'e' && text[i+1] != '\\' && text[i+1] < utf8.RuneSelf {
		return false
	}
	for _, letter := range [...]byte{'u', 'a', 'g'} {
		i--
		switch {
		case i < 0:
			return false
		case text[i] >= utf8.RuneSelf, i >= 1 && text[i-1] == '\\', i >= 5 && text[i-5] == '\\' && text[i-4] == 'u':
			return true
		case text[i]|0x20 != letter:
			return false
		}
	}
	return true
}

// disownString returns the replacement for a string; nil: it stays as it is.
func disownString(path [][]byte, raw []byte, key bool) []byte {
	if !mentionsGauze(raw) || within(path, "result", "structuredContent") {
		return nil
	}
	switch {
	case key:
		if len(path) == 0 || !named(path[len(path)-1], "_meta") {
			return nil
		}
		name, _ := wire.Text(raw)
		if renamed, marked := fault.DisownedKey(name); marked {
			return jsonString(renamed)
		}
	case at(path, "error", "data", "source"):
		if source, _ := wire.Text(raw); source == fault.Source {
			return jsonString(fault.DisownedSource)
		}
	case at(path, "error", "message"), at(path, "result", "content", "", "text"):
		return disownLines(raw)
	}
	return nil
}

// at reports whether path consists of these names; "" stands for an array.
func at(path [][]byte, names ...string) bool {
	return len(path) == len(names) && within(path, names...)
}

func within(path [][]byte, names ...string) bool {
	if len(path) < len(names) {
		return false
	}
	for i, name := range names {
		if !named(path[i], name) {
			return false
		}
	}
	return true
}

// named compares a raw key with a name as the most lenient parser would.
func named(raw []byte, name string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return strings.EqualFold(string(raw), name)
	}
	text, ok := wire.Text([]byte(`"` + string(raw) + `"`))
	return ok && strings.EqualFold(text, name)
}

func jsonString(text string) []byte {
	raw, _ := json.Marshal(text)
	return raw
}

// disownLines marks the lines of a raw string that begin like gauze's texts for a model.
func disownLines(raw []byte) (out []byte) {
	inner := raw[1 : len(raw)-1]
	done := 0
	for from := 0; from < len(inner); {
		to := from + lineLen(inner[from:])
		if line := inner[from:to]; mentionsGauze(line) && speaksToModel(line) {
			out = append(append(out, inner[done:from]...), fault.Disowned...)
			done = from
		}
		from = to
	}
	if out == nil {
		return nil
	}
	out = append(out, inner[done:]...)
	return append(append([]byte{'"'}, out...), '"')
}

func speaksToModel(line []byte) bool {
	text, ok := wire.Text([]byte(`"` + string(line) + `"`))
	for _, end := range []string{":", "]"} {
		if at, _ := fault.FindMark(text, fault.ModelMark+end); ok && at >= 0 {
			return true
		}
	}
	return false
}

// lineLen returns the length of the first line of a raw string's content, including its line end.
func lineLen(inner []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(inner[i:], '\\')
		if n < 0 || i+n+1 >= len(inner) {
			return len(inner)
		}
		i += n + 2
		switch inner[i-1] {
		case 'n', 'r':
			return i
		case 'u':
			i = min(i+4, len(inner))
			if code := inner[i-4 : i]; bytes.EqualFold(code, []byte("000a")) || bytes.EqualFold(code, []byte("000d")) {
				return i
			}
		}
	}
}
