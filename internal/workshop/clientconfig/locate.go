package clientconfig

import (
	"bytes"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// located is a value and its position in the file.
type located struct {
	splice.Node
	from, to int
}

// layout is how a file is written: where its values and keys are, and in which style.
type layout struct {
	text   []byte
	doc    *splice.Document
	format splice.Format
	shift  int // positions in the document are without the byte order mark
	crlf   bool
}

// locate finds the bytes of a value. It fails for an alias, whose bytes are elsewhere and shared.
func (t layout) locate(n splice.Node, ok bool) (located, bool) {
	if !ok || n.Raw() == "" || n.Alias() {
		return located{}, false
	}
	from := n.Start() + t.shift
	l := located{n, from, from + len(n.Raw())}
	return l, l.to <= len(t.text) && string(t.text[l.from:l.to]) == n.Raw()
}

func (t layout) items(list located) (all []located, ok bool) {
	const maxItems = 1000 // longer than any command line
	nodes := list.Items()
	if len(nodes) > maxItems {
		return nil, false
	}
	for _, n := range nodes {
		item, ok := t.locate(n, true)
		if !ok {
			return nil, false
		}
		all = append(all, item)
	}
	return all, true
}

func (t layout) put(from, to int, text string) Change {
	return Change{Do: Put, From: from, To: to, Old: string(t.text[from:to]), Text: text}
}

// key returns where the key of a value starts, and the text between the two.
func (t layout) key(value located, name string) (start int, sign string, ok bool) {
	before := t.text[:value.from]
	trimmed := bytes.TrimRight(before, " \t\r\n:=")
	sign = string(before[len(trimmed):])
	for _, written := range []string{quote(name), name} {
		if bytes.HasSuffix(trimmed, []byte(written)) {
			return len(trimmed) - len(written), sign, strings.Trim(sign, " \t") == ":" || strings.Trim(sign, " \t") == "="
		}
	}
	return 0, "", false
}

// writtenKey is a key and its position in the file.
type writtenKey struct {
	splice.Key
	From, To int
}

// keysAt returns every position at which the key of a member is written.
func (t layout) keysAt(path []any) (all []writtenKey) {
	for _, k := range t.doc.Keys(path...) {
		all = append(all, writtenKey{k, k.From + t.shift, k.To + t.shift})
	}
	return all
}

// insertion inserts words at the start of a list, in the list's own style.
func (t layout) insertion(list located, words ...string) (Change, bool) {
	if list.to == 0 {
		return Change{}, false
	}
	items, ok := t.items(list)
	bracketed := t.text[list.from] == '['
	switch {
	case !ok || len(items) == 0 && !bracketed:
		return Change{}, false
	case len(items) == 0:
		return t.put(list.from+1, list.from+1, strings.Join(words, ", ")), true
	}
	first := items[0].from
	margin := t.margin(first)
	gap := ", "
	switch alone := strings.TrimSpace(margin) == ""; {
	case !bracketed && strings.Trim(margin, " ") == "-":
		gap = t.newline() + margin
	case !bracketed:
		return Change{}, false
	case alone:
		gap = "," + t.newline() + margin
	case len(items) > 1:
		if between := string(t.text[items[0].to:items[1].from]); strings.Trim(between, " \t") == "," && between[0] == ',' {
			gap = between
		}
	}
	return t.put(first, first, strings.Join(words, gap)+gap), true
}

func (t layout) newline() string {
	if t.crlf {
		return "\r\n"
	}
	return "\n"
}

// margin returns the text before a position on its line, if it consists of blanks and dashes only.
func (t layout) margin(at int) string {
	start := at
	for start > 0 && strings.IndexByte(" \t\r-", t.text[start-1]) >= 0 {
		start--
	}
	if start > 0 && t.text[start-1] != '\n' {
		return "..."
	}
	return string(t.text[start:at])
}

// neighbour returns how to write a new field after an existing one: the key, and the text between
// them.
func (t layout) neighbour(e *Entry, value located, key, name string) (written, between string, ok bool) {
	start, sign, ok := t.key(value, key)
	if !ok {
		return "", "", false
	}
	raw := e.src.node.Raw()
	inBraces := strings.HasPrefix(raw, "{")
	written = name + sign
	if t.format == splice.JSON || t.format == splice.JSONC {
		written = quote(name) + sign
	}
	margin := t.margin(start)
	alone := strings.Trim(margin, " \t-") == ""
	indent := strings.ReplaceAll(margin, "-", " ")
	switch {
	case inBraces && alone:
		return written, "," + t.newline() + indent, true
	case inBraces:
		return written, ", ", true
	case alone:
		return written, t.newline() + indent, true
	}
	return "", "", false
}
