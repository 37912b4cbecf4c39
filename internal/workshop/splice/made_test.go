package splice

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// writer makes documents up: nested, with comments, odd indentation, odd
// names, each comment with a number of its own.
type writer struct {
	*rand.Rand
	out      strings.Builder
	comments int
	plain    bool // no comments, no trailing commas
	unit     string
	mark     string // begins a comment
	serial   int
}

func (w *writer) say(text string)          { w.out.WriteString(text) }
func (w *writer) chance(n int) bool        { return w.IntN(n) == 0 }
func (w *writer) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *writer) comment() string {
	w.comments++
	return fmt.Sprintf("%s c%d, \"x\": {", w.mark, w.comments)
}

// name is different each time, and sometimes odd.
func (w *writer) name() string {
	w.serial++
	odd := []string{"", "", "", "", " s", "é", "日本", "a.b", "x/y", `q"q`, `b\b`, "it's", "#", "a: b", "😀", "-"}
	return fmt.Sprintf("k%d%s", w.serial, odd[w.IntN(len(odd))])
}

func (w *writer) word() string {
	return w.pick("npx", "-y", "@scope/pkg", "", "a b", "C:\\x", "tab\there", "line\nend", `"q"`, "it's", "${HOME}", "https://x/mcp?a=1#b", "// no", "# no", "true", "12", "null", "~", "é日本😀", "a: b", "- x", "{", "]", "yes", "\u007f", " lead", "trail ", "[x", "&a", "*a", "!t", "%", "@x", "`")
}

// --- JSON

func (w *writer) json(depth int, indent string) {
	kind := w.IntN(8)
	if depth == 0 {
		kind = 0
	}
	if depth > 3 && kind < 4 {
		kind = 5
	}
	switch {
	case kind < 4:
		open, shut := "{", "}"
		if kind == 3 {
			open, shut = "[", "]"
		}
		multi := depth == 0 || w.chance(2)
		inner := indent + w.unit
		w.say(open)
		count := w.IntN(4)
		for i := range count {
			switch {
			case multi:
				if !w.plain && w.chance(6) {
					w.say(" " + w.comment())
				}
				w.say("\n")
				if !w.plain && w.chance(5) {
					w.say(inner + w.comment() + "\n")
				}
				w.say(inner)
			case i > 0:
				w.say(w.pick(" ", "", " ", "  "))
			default:
				w.say(w.pick("", "", " "))
			}
			if open == "{" {
				w.say(w.jsonText(w.name()) + w.pick(":", ": ", ": ", " : "))
			}
			w.json(depth+1, inner)
			if !w.plain && w.chance(9) {
				w.say(" /* c */ ")
			}
			if i < count-1 || !w.plain && w.chance(5) {
				w.say(",")
			}
			if multi && !w.plain && w.chance(7) {
				w.say(" " + w.comment())
				if i == count-1 {
					w.say("\n")
				}
			}
		}
		if multi && count > 0 {
			w.say("\n" + w.pick(indent, indent, ""))
		}
		w.say(shut)
	case kind == 4:
		w.say(w.pick("true", "false", "null"))
	case kind == 5:
		w.say(w.pick("0", "-1.50", "1e3", "12345678901234567890", "3"))
	default:
		w.say(w.jsonText(w.word()))
	}
}

func (w *writer) jsonText(s string) string {
	if w.chance(12) {
		raw, _ := json.Marshal(s)
		return strings.ReplaceAll(string(raw), "k", `\u006b`)
	}
	return jsonString(s)
}

// --- TOML

func (w *writer) tomlValue(depth int) string {
	switch kind := w.IntN(9); {
	case kind == 0 && depth < 3:
		var items []string
		for range w.IntN(4) {
			items = append(items, w.tomlValue(depth+1))
		}
		if w.chance(3) && len(items) > 0 {
			text := "["
			for i, item := range items {
				if w.chance(4) {
					text += " " + w.comment()
				}
				text += "\n" + w.unit + item
				if i < len(items)-1 || w.chance(2) {
					text += ","
				}
			}
			return text + "\n]"
		}
		return "[" + strings.Join(items, w.pick(", ", ",")) + "]"
	case kind == 1 && depth < 3:
		var items []string
		for range w.IntN(3) {
			items = append(items, w.tomlName()+" = "+w.inlineValue(depth+1))
		}
		if len(items) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(items, ", ") + " }"
	case kind == 2:
		return w.pick("1", "-17", "1_000", "0xff", "3.14", "1e3", "inf", "true", "false", "2024-05-01", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00", "10:00:00")
	case kind == 3:
		return w.pick("'a'", "'C:\\x'", "\"\"\"\nlong\n text\"\"\"", "'''raw'''")
	}
	return tomlString(w.word(), '"')
}

func (w *writer) inlineValue(depth int) string {
	for {
		if text := w.tomlValue(depth); !strings.Contains(text, "\n") {
			return text
		}
	}
}

func (w *writer) tomlName() string {
	if w.chance(6) {
		return "'" + strings.ReplaceAll(w.name(), "'", "") + "'"
	}
	return tomlKey(w.name())
}

func (w *writer) tomlBody(indent string) {
	for range w.IntN(4) {
		if w.chance(6) {
			w.say(indent + w.comment() + "\n")
		}
		name := w.tomlName()
		if w.chance(6) {
			other := w.tomlName()
			w.say(indent + name + "." + other + " = " + w.inlineValue(1) + "\n")
			name += "." + w.tomlName()
		}
		w.say(indent + name + w.pick(" = ", " = ", "=") + w.tomlValue(1))
		if w.chance(6) {
			w.say(" " + w.comment())
		}
		w.say("\n")
	}
}

func (w *writer) toml() {
	gap := w.pick("\n", "\n", "")
	if w.chance(3) {
		w.say(w.comment() + "\n\n")
	}
	w.tomlBody("")
	parent := w.tomlName()
	var left []string // subtables that come later
	for range w.IntN(5) {
		w.say(gap)
		if w.chance(5) {
			w.say(w.comment() + "\n")
		}
		name := parent + "." + w.tomlName()
		indent := w.pick("", "", w.unit)
		switch w.IntN(5) {
		case 0:
			list := w.tomlName()
			for range 1 + w.IntN(3) {
				w.say("[[" + list + "]]\n")
				w.tomlBody(indent)
				if w.chance(3) {
					w.say(gap + "[" + list + ".sub]\n")
					w.tomlBody(indent)
				}
				w.say(gap)
			}
		case 1:
			name = w.tomlName()
			fallthrough
		default:
			w.say("[" + name + "]")
			if w.chance(6) {
				w.say(" " + w.comment())
			}
			w.say("\n")
			w.tomlBody(indent)
			if w.chance(2) {
				left = append(left, "["+name+".env]\n")
			}
			if len(left) > 0 && w.chance(2) {
				w.say(gap + left[0])
				left = left[1:]
				w.tomlBody(indent)
			}
		}
	}
	for _, header := range left {
		w.say(gap + header)
		w.tomlBody("")
	}
}

// --- YAML

func (w *writer) yamlText(s string) string {
	if plainYAML(s) && w.chance(2) {
		return s
	}
	return yamlString(s, w.pick("'", `"`)[0])
}

func (w *writer) yamlScalar() string {
	switch w.IntN(6) {
	case 0:
		return w.pick("1", "-2.5", "true", "false", "null", "~")
	case 1:
		return w.pick("plain words here", "a#b", "x:y", "http://h:80/p?q", "-y", "a, b", "@scope"[1:])
	}
	return w.yamlText(w.word())
}

func (w *writer) yamlFlow(depth int) string {
	var parts []string
	switch kind := w.IntN(4); {
	case kind == 0 && depth < 3:
		for range w.IntN(4) {
			parts = append(parts, w.yamlText(w.name())+": "+w.yamlFlow(depth+1))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case kind == 1 && depth < 3:
		for range w.IntN(4) {
			parts = append(parts, w.yamlFlow(depth+1))
		}
		return "[" + strings.Join(parts, w.pick(", ", ", ", ",")) + "]"
	}
	if w.chance(5) {
		return w.pick("1", "true", "null")
	}
	return yamlString(w.word(), w.pick("'", `"`)[0])
}

func (w *writer) yamlEnd() {
	if w.chance(7) {
		w.say(" " + w.comment())
	}
	w.say("\n")
}

// yaml writes a block whose first line begins where the writer is.
func (w *writer) yaml(depth int, indent string) {
	list := depth > 0 && w.chance(3)
	for i := range 1 + w.IntN(3) {
		if i > 0 {
			if w.chance(8) {
				w.say(indent + w.comment() + "\n")
			}
			if w.chance(12) {
				w.say("\n")
			}
			w.say(indent)
		}
		kind := w.IntN(7)
		if depth > 3 {
			kind = 6
		}
		if list {
			w.say("- ")
			if kind < 3 {
				w.yaml(depth+1, indent+"  ")
				continue
			}
		} else {
			w.say(w.yamlText(w.name()) + ":")
			if kind < 3 {
				inner := indent + w.unit
				w.yamlEnd()
				if w.chance(8) {
					w.say(inner + w.comment() + "\n")
				}
				w.say(inner)
				w.yaml(depth+1, inner)
				continue
			}
			if kind == 3 && w.chance(2) {
				w.say(w.pick(" |", " >-", " |-", " >") + "\n" + indent + w.unit + "block text\n" + indent + w.unit + "and more\n")
				continue
			}
			if kind == 4 && w.chance(5) {
				w.yamlEnd()
				continue
			}
			w.say(" ")
		}
		if kind == 5 {
			w.say(w.yamlFlow(0))
		} else {
			w.say(w.yamlScalar())
		}
		w.yamlEnd()
	}
}

// document makes one up.
func document(f Format, seed uint64) []byte {
	w := &writer{Rand: sample.Random(seed, uint64(f)), mark: "//", plain: f == JSON}
	w.unit = w.pick("  ", "    ", "\t", "   ", " ")
	switch f {
	case JSON, JSONC:
		if !w.plain && w.chance(4) {
			w.say(w.comment() + "\n")
		}
		w.json(0, "")
		w.say(w.pick("\n", "", "\n\n"))
	case TOML:
		w.mark = "#"
		w.toml()
	case YAML:
		w.mark, w.unit = "#", w.pick("  ", "    ", "   ", " ")
		if w.chance(5) {
			w.say(w.comment() + "\n")
		}
		if w.chance(8) {
			w.say("---\n")
		}
		w.yaml(0, "")
	}
	text := w.out.String()
	if w.chance(8) {
		text = strings.TrimRight(text, "\n")
	}
	if w.chance(4) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	forms := []encoding{utf8Plain, utf8Plain, utf8Plain, utf8Plain, utf8Plain, utf8Marked, utf16Little, utf16Big}
	return forms[w.IntN(len(forms))].encode(text)
}
