package main

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
)

// fate is what becomes of a call that is sent with changed arguments.
type fate string

const (
	healed       fate = "healed"       // the arguments are an accepted answer
	carried      fate = "carried"      // every value is the caller's, but the caller's own value was wrong
	contradicted fate = "contradicted" // for a tool that only reads: a rejected or missing field has a value that is not accepted
	altered      fate = "altered"      // a value was dropped, changed or invented that must not be
	unfit        fate = "unfit"        // the arguments do not fit the schema
)

// judgeSent judges arguments that are sent. For a tool that only reads, only what was valid has to
// stay as it was.
func (c wrongCall) judgeSent(arguments []byte, readOnly bool) fate {
	f := c.judge(arguments)
	if f == altered && readOnly && kept(parsed(c.Schema), c.sentValue(), parsed(arguments)) {
		return contradicted
	}
	return f
}

// kept reports whether every part of a value that its schema declares and accepts is still there,
// unchanged.
func kept(schema, before, after any) bool {
	from, _ := before.(map[string]any)
	to, _ := after.(map[string]any)
	for key, value := range from {
		property := propertyOf(schema, key)
		switch {
		case property == nil:
		case matches(property, value):
			if exact(value) != exact(to[key]) {
				return false
			}
		case !kept(property, value, to[key]):
			return false
		}
	}
	return true
}

// judge compares arguments with the accepted answers and with the call.
func (c wrongCall) judge(arguments []byte) fate {
	args, ok := parsed(arguments).(map[string]any)
	switch {
	case !ok || !matches(parsed(c.Schema), args):
		return unfit
	case accepts(parsed(c.Accept), args):
		return healed
	case c.changed(args):
		return altered
	}
	return carried
}

// changed reports whether a scalar of the call was dropped, or one was invented. Defaults of the
// schema may be filled in.
func (c wrongCall) changed(args any) bool {
	before := c.sentValue()
	return c.invents(args) || before != nil && exceeds(leavesOf(before), leavesOf(args), defaultsOf(parsed(c.Schema)))
}

// invents reports whether a scalar is neither in the call nor a default of the schema.
func (c wrongCall) invents(args any) bool {
	after, before := leavesOf(args), c.sentValue()
	if before != nil {
		return exceeds(after, leavesOf(before), defaultsOf(parsed(c.Schema)))
	}
	// Not readable as it was sent: every word must at least occur in it.
	text := folded(c.sent())
	for leaf := range after {
		if _, err := strconv.ParseFloat(leaf, 64); err != nil && !strings.Contains(text, leaf) {
			return true
		}
	}
	return false
}

// sentValue returns the call's arguments as a value; nil if they are not readable.
func (c wrongCall) sentValue() any {
	before := container(c.sent())
	if object, ok := before.(map[string]any); ok && len(object) == 1 {
		for _, only := range object {
			if text, ok := only.(string); ok && container(text) != nil {
				return container(text)
			}
		}
	}
	return before
}

// leaves counts the scalars of a value: numbers and strings in one form each.
type leaves map[string]int

func leavesOf(value any) leaves {
	all := leaves{}
	all.add(value)
	return all
}

func (l leaves) add(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			l.add(item)
		}
	case []any:
		for _, item := range v {
			l.add(item)
		}
	case bool:
		l[strconv.FormatBool(v)]++
	case json.Number:
		l[canonical(number(v))]++
	case string:
		l.addText(v)
	}
}

// addText counts a string; one that is JSON or a Python literal counts as the value it spells.
func (l leaves) addText(text string) {
	if inner := container(text); inner != nil {
		l.add(inner)
	} else if f, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		l[canonical(f)]++
	} else if leaf := folded(text); leaf != "" && leaf != "null" && leaf != "none" && leaf != "na" {
		l[leaf]++
	}
}

func canonical(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// exceeds reports whether a has a scalar that is neither in b nor given.
func exceeds(a, b, given leaves) bool {
	for leaf, n := range a {
		if n > b[leaf]+given[leaf] {
			return true
		}
	}
	return false
}

// defaultsOf returns the default values that a schema declares.
func defaultsOf(schema any) leaves {
	all := leaves{}
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for _, property := range properties {
		if p, ok := property.(map[string]any); ok {
			all.add(p["default"])
			for leaf, n := range maps.All(defaultsOf(p)) {
				all[leaf] += n
			}
		}
	}
	return all
}

// container returns the object or the list that a text spells in JSON or as a Python literal; nil if
// it spells none.
func container(text string) any {
	for _, spelled := range []string{text, pythonAsJSON(text)} {
		if !json.Valid([]byte(spelled)) {
			continue
		}
		switch v := parsed([]byte(spelled)).(type) {
		case map[string]any, []any:
			return v
		}
	}
	return nil
}

// pythonAsJSON writes a Python literal as JSON. The result is not JSON if the text is not a literal.
func pythonAsJSON(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			inner, n := pythonString(text[i:])
			quoted, _ := json.Marshal(inner) // a string: cannot fail
			b.Write(quoted)
			i += n
		case c == ',' && strings.IndexAny(strings.TrimLeft(text[i+1:], " \n\t"), ")]}") == 0:
			i++
		case c >= 'A' && c <= 'Z':
			n := strings.IndexFunc(text[i:], func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
			if n < 0 || pythonWords[text[i:i+n]] == "" {
				return ""
			}
			b.WriteString(pythonWords[text[i:i+n]])
			i += n
		default:
			b.WriteByte(pythonBracket(c))
			i++
		}
	}
	return b.String()
}

var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

func pythonBracket(c byte) byte {
	switch c {
	case '(':
		return '['
	case ')':
		return ']'
	}
	return c
}

// pythonString returns the string at the beginning of text and its length with quotes.
func pythonString(text string) (inner string, n int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return b.String(), i + 1
		case text[i] == '\\':
			r, _, rest, err := strconv.UnquoteChar(text[i:], text[0])
			if err != nil {
				return b.String(), len(text)
			}
			b.WriteRune(r)
			i = len(text) - len(rest) - 1
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), len(text)
}
