package repair

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// hiddenMark stands for a value that was sent and is not repeated.
const hiddenMark = "<as sent>"

// visible makes foreign text fit for one line: what shows nothing, breaks the
// line or turns its direction is written as an escape of JSON.
func visible(text string) string {
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unseen(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func unseen(r rune) bool { return r != ' ' && (fault.Unseen(r) || unicode.IsSpace(r)) }

// remark is foreign prose on one line, without secrets.
func remark(text string, n int) string { return bounded(fault.Redact(fault.Clean(text)), n) }

// maxScalars is how many values of a call are looked at for secrets. A call
// with more is not repeated as an example.
const maxScalars = 2_000

// secretive knows which of the values of a call are not to be repeated.
type secretive struct {
	schema *Schema
	values map[string]bool   // those found in the call
	meant  map[string]string // by undeclared key: the declared one it looks like
	looked int
}

func (s *Schema) secretive(calls ...any) *secretive {
	known := &secretive{schema: s, values: map[string]bool{}, meant: map[string]string{}}
	for _, call := range calls {
		known.collect(call, nil)
	}
	return known
}

func (k *secretive) collect(value any, path []string) {
	walk(value, path, func(path []string, value any) {
		text, ok := scalarText(value)
		if !ok || text == "" {
			return
		}
		if k.looked++; !k.crowded() && k.hides(path, text) {
			k.values[text] = true
		}
	})
}

// crowded reports whether there was more than could be looked at.
func (k *secretive) crowded() bool { return k.looked > 2*maxScalars }

func scalarText(value any) (string, bool) {
	switch value.(type) {
	case nil, bool, map[string]any, []any:
		return "", false
	}
	return plain(value), true
}

// hides reports whether the text at a path is a secret: by the names on the
// way to it, by the schema, or by its looks.
func (k *secretive) hides(path []string, text string) bool {
	text = bounded(text, 8<<10) // nobody shows more of it
	for i, name := range path {
		name = bounded(name, 200)
		if secretName(name, text) {
			return true
		}
		if i == 0 && k.schema.declared[name] == nil {
			if meant := k.nearest(name); meant != "" && secretName(meant, text) {
				return true
			}
		}
	}
	for _, node := range k.schema.nodesAt(path) {
		if node.WriteOnly || node.Format != nil && node.Format.Name == "password" {
			return true
		}
	}
	return looksSecret(text)
}

// nearest is the declared key that an undeclared one looks like.
func (k *secretive) nearest(name string) string {
	meant, known := k.meant[name]
	if !known && len(k.meant) < 2*mostSuspects {
		meant = k.schema.nearestAbsent(nil, name)
		k.meant[name] = meant
	}
	return meant
}

func looksSecret(text string) bool {
	clean := fault.Clean(text)
	return fault.Redact(clean) != clean
}

// secretName reports whether a name promises a secret. A bare key is rather
// that of a map, an issue or a sort order.
func secretName(name, value string) bool {
	folded := fold(name)
	if strings.Contains(folded, "authorization") || strings.Contains(folded, "cookie") || strings.Contains(folded, "bearer") {
		return true
	}
	if words := segments(name); len(words) > 0 && words[len(words)-1] == "key" {
		return len(words) > 1 && slices.Contains(keyAdjectives, words[len(words)-2])
	}
	return fault.NamesSecret(name, value)
}

var keyAdjectives = []string{"api", "access", "private", "secret", "auth", "encryption", "signing", "master", "ssh", "service", "license", "account"}

// maxShown is how many elements of a value are shown at most; its text is cut
// long before.
const maxShown = 100

// safe is a value without its secrets, for showing.
func (k *secretive) safe(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		keys := orderedKeys(v, nil)
		for _, key := range keys[:min(len(keys), maxShown)] {
			object[fault.Redact(bounded(key, longText))] = k.safe(v[key], append(slices.Clone(path), key))
		}
		return object
	case []any:
		list := make([]any, min(len(v), maxShown))
		for i, item := range v[:len(list)] {
			list[i] = k.safe(item, append(slices.Clone(path), strconv.Itoa(i)))
		}
		return list
	}
	text, ok := scalarText(value)
	switch {
	case ok && k.secret(path, text):
		return hiddenMark
	case len(text) > 2*longText && isText(value):
		return bounded(text, longText)
	}
	return value
}

func (k *secretive) secret(path []string, text string) bool {
	return text != "" && (k.values[text] || k.hides(path, text))
}

func isText(value any) bool { _, ok := value.(string); return ok }

// show is what was received, on one line.
func (k *secretive) show(value any, path []string) string {
	return bounded(visible(string(encode(k.safe(value, path), nil))), maxLiteral)
}

// field is a path as it may be shown.
func field(path []string) string {
	return bounded(fault.Redact(visible(Path(path))), 120)
}

// in hides the secrets of the call in somebody else's words.
func (k *secretive) in(text string) string {
	return fault.KnownSecrets(slices.Sorted(maps.Keys(k.values))...).Redact(text)
}
