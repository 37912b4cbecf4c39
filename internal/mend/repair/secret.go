package repair

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// maskText replaces a secret value of the caller.
const maskText = "<as sent>"

// visible makes untrusted text safe for one line: characters that are invisible, break the line or
// change its direction are escaped as in JSON.
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

func unseen(r rune) bool { return r != ' ' && (plaintext.Unseen(r) || unicode.IsSpace(r)) }

// remark returns untrusted prose on one line, without secrets.
func remark(text string, n int) string { return bounded(redact.Text(plaintext.Clean(text)), n) }

// maxScalars limits the values of a call that are searched for secrets. A call with more is not
// repeated as an example.
const maxScalars = 2_000

// masker knows which values of a call must not be repeated.
type masker struct {
	schema *Schema
	values map[string]bool   // secrets found in the call
	sent   map[string]bool   // all scalars of the call
	meant  map[string]string // declared key that an undeclared key resembles
	looked int
}

func (s *Schema) masker(calls ...any) *masker {
	known := &masker{schema: s, values: map[string]bool{}, sent: map[string]bool{}, meant: map[string]string{}}
	for _, call := range calls {
		known.collect(call, nil)
	}
	return known
}

func (k *masker) collect(value any, path []string) {
	walk(value, path, func(path []string, value any) {
		for _, text := range paired(path, value) {
			k.values[text] = true
		}
		text, ok := scalarText(value)
		if !ok || text == "" {
			return
		}
		if k.looked++; k.overLimit() {
			return
		}
		k.sent[text] = true
		if k.hides(path, text) {
			k.values[text] = true
			for _, part := range secretParts(text) {
				k.values[part] = true
			}
		}
	})
}

// overLimit reports whether there were too many values to search.
func (k *masker) overLimit() bool { return k.looked > 2*maxScalars }

func scalarText(value any) (string, bool) {
	switch value.(type) {
	case nil, bool, map[string]any, []any:
		return "", false
	}
	return plain(value), true
}

// hides reports whether the value at a path is a secret: by the names on the path, by the schema,
// or by its form.
func (k *masker) hides(path []string, text string) bool {
	text = bounded(text, 8<<10) // more is never shown
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
	if slices.ContainsFunc(k.schema.nodesAt(path), hidesValue) {
		return true
	}
	return looksSecret(text)
}

// hidesValue reports whether a schema declares its value a secret.
func hidesValue(node *jsonschema.Schema) bool {
	return node.WriteOnly || node.Format != nil && node.Format.Name == "password"
}

// holds reports whether the value at a path is a secret or contains one.
func (k *masker) holds(path []string, value any) (found bool) {
	walk(value, slices.Clone(path), func(path []string, value any) {
		text, ok := scalarText(value)
		found = found || ok && k.secret(path, text)
	})
	return found
}

// holdsSecret is holds for a value without a schema.
func holdsSecret(name string, value any) bool {
	return (&Schema{}).masker().holds([]string{name}, value)
}

// without returns a copy of a value that lacks the secrets of the call. What is derived from a secret
// reveals it.
func (k *masker) without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for key, item := range v {
			if rest := k.without(item); rest != nil || item == nil {
				object[key] = rest
			}
		}
		return object
	case []any:
		list := []any{}
		for _, item := range v {
			if rest := k.without(item); rest != nil || item == nil {
				list = append(list, rest)
			}
		}
		return list
	}
	if text, ok := scalarText(value); ok && k.values[text] {
		return nil
	}
	return value
}

// nearest returns the declared key that an undeclared one resembles.
func (k *masker) nearest(name string) string {
	meant, known := k.meant[name]
	if !known && len(k.meant) < 2*maxUnknownKeys {
		meant = k.schema.nearestAbsent(nil, name)
		k.meant[name] = meant
	}
	return meant
}

func looksSecret(text string) bool {
	clean := plaintext.Clean(text)
	return redact.Text(clean) != clean
}

// secretName reports whether a name indicates a secret, also if it is misspelled. The word key alone
// usually means something else, such as an issue or a sort key.
func secretName(name, value string) bool {
	folded := fold(name)
	if strings.Contains(folded, "authorization") || strings.Contains(folded, "cookie") || strings.Contains(folded, "bearer") {
		return true
	}
	if words := segments(name); len(words) > 0 && words[len(words)-1] == "key" {
		return len(words) > 1 && isIn("secret key", words[len(words)-2])
	}
	return redact.NamesSecret(respelled(name), value)
}

// respelled returns a name in which the words for a secret are spelled as usual.
func respelled(name string) string {
	for _, word := range segments(name) {
		for _, secret := range []string{"password", "passphrase", "credential", "secret"} {
			if misspells(word, secret) {
				return secret
			}
		}
	}
	return name
}

// misspells reports whether one letter of a word is wrong, missing or extra, or some are swapped.
func misspells(text, word string) bool {
	if text[0] != word[0] || len(text) < len(word)-1 || len(text) > len(word)+1 {
		return false
	}
	return distance(text, word) == 1 || lettersOf(text) == lettersOf(word) && text != word
}

func lettersOf(word string) string { return string(slices.Sorted(slices.Values([]byte(word)))) }

// leaks reports whether a value under a secret name would move to a name for something else.
func leaks(from, to string, value any) bool {
	text, ok := scalarText(value)
	if !ok {
		text = maskText
	}
	return secretName(bounded(from, 200), text) && !secretName(bounded(to, 200), text)
}

// maxShown limits the elements of a value that are shown.
const maxShown = 100

// safe returns a value with its secrets masked.
func (k *masker) safe(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		keys := orderedKeys(v, nil)
		for _, key := range keys[:min(len(keys), maxShown)] {
			object[redact.Text(bounded(key, maxShownText))] = k.safe(v[key], append(slices.Clone(path), key))
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
		return maskText
	case len(text) > 2*maxShownText && isText(value):
		return bounded(text, maxShownText)
	}
	return value
}

func (k *masker) secret(path []string, text string) bool {
	return text != "" && (k.values[text] || k.hides(path, text))
}

func isText(value any) bool { _, ok := value.(string); return ok }

// show returns the received value on one line.
func (k *masker) show(value any, path []string) string {
	return bounded(visible(string(encode(k.safe(value, path), nil))), maxLiteral)
}

// field returns a path that can be shown.
func field(path []string) string {
	return bounded(redact.Text(visible(Path(path))), 120)
}

// in masks the secrets of the call in untrusted text.
func (k *masker) in(text string) string {
	return redact.KnownSecrets(slices.Sorted(maps.Keys(k.values))...).Redact(text)
}
