package repair

import (
	"slices"
	"strings"
)

// decodeLoosely also reads what models write instead of JSON: a fenced block, Python literals,
// comments, trailing commas, keys without quotes. It never guesses the rest of an incomplete value.
func decodeLoosely(text string) (document, error) {
	r := reader{text: unfenced(text), loosely: true}
	return r.read()
}

// unfenced returns the text inside a Markdown fence.
func unfenced(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	inner, opens := strings.CutPrefix(text, "```")
	inner, closes := strings.CutSuffix(inner, "```")
	if !opens || !closes {
		return text
	}
	if first, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(first, "{}[]\"'") {
		inner = rest // skip the language
	}
	return strings.TrimSpace(inner)
}

// took records a deviation from JSON and reports whether it is allowed.
func (r *reader) took(what string) bool {
	if r.loosely && !slices.Contains(r.loose, what) {
		r.loose = append(r.loose, what)
	}
	return r.loosely
}

func (r *reader) comment() bool {
	rest := r.text[r.pos:]
	end := 0
	switch {
	case strings.HasPrefix(rest, "//"), rest[0] == '#':
		if end = strings.IndexByte(rest, '\n'); end < 0 {
			end = len(rest)
		}
	case strings.HasPrefix(rest, "/*"):
		end = strings.Index(rest, "*/") + 2
	}
	if end < 2 && !strings.HasPrefix(rest, "#") {
		return false
	}
	r.pos += end
	return r.took("comments")
}

var pythonWords = map[string]any{"True": true, "False": false, "None": nil}

// pythonEscape reads an escape that only Python has.
func (r *reader) pythonEscape(text string) (char rune, size int) {
	if text[1] == '\'' && r.took("Python's escapes") {
		return '\'', 2
	}
	if char, ok := hex(text, 2, 2); ok && text[1] == 'x' && r.took("Python's escapes") {
		return char, 4
	}
	return 0, 0
}

// completed returns a number as JSON spells it: .5 is 0.5, and 5. is 5.0.
func completed(text string) string {
	switch {
	case strings.HasPrefix(text, "."):
		return "0" + text
	case strings.HasSuffix(text, "."):
		return text + "0"
	}
	return text
}

// bareKey reads a key without quotes, or without the first one.
func (r *reader) bareKey() (string, error) {
	key := r.name()
	if key == "" || !r.took("keys without quotes") {
		return "", r.fail("a key in quotes is missing")
	}
	if r.peek() == '"' {
		r.pos++
	}
	return key, nil
}

// moreLoosely is more where JSON has neither a comma nor the closing bracket.
func (r *reader) moreLoosely(closing byte) (bool, error) {
	switch c := r.peek(); {
	case (c == '}' || c == ']') && r.mayGoOn() && r.took(wrongBracket):
		r.pos++
		return false, nil
	case c == '"' && !strings.HasSuffix(r.text[:r.pos], `"`): // an extra quote: {"a":1"}
		rest := strings.TrimLeft(r.text[r.pos+1:], " \t\r\n")
		if rest != "" && strings.IndexByte(","+string(closing), rest[0]) >= 0 && r.took("a stray quote") {
			r.pos++
			return r.more(closing)
		}
	case r.pos >= len(r.text):
		// Only brackets may be missing, after a complete string, array or object. A number, a
		// word or an open string could continue.
		if last := strings.TrimRight(r.text, " \t\r\n"); strings.IndexByte("\"'}])", last[len(last)-1]) >= 0 && r.took(missingBrackets) {
			return false, nil
		}
		return false, r.fail("the JSON is incomplete")
	}
	return false, r.fail("a comma or " + string(closing) + " is missing")
}
