package clientconfig

import (
	"bytes"
	"strings"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// located is a value and its position in the file.
type located struct {
	splice.Node
	from, to int
}

// locate finds the bytes of a value. It fails for an alias, whose bytes are elsewhere and shared.
func (c *Config) locate(n splice.Node, ok bool) (located, bool) {
	if !ok || n.Raw() == "" || n.Alias() {
		return located{}, false
	}
	from := n.Start()
	if c.marked() {
		from += len(byteOrderMark)
	}
	l := located{n, from, from + len(n.Raw())}
	return l, l.to <= len(c.Text) && string(c.Text[l.from:l.to]) == n.Raw()
}

func (c *Config) items(list located) (all []located, ok bool) {
	const maxItems = 1000 // longer than any command line
	nodes := list.Items()
	if len(nodes) > maxItems {
		return nil, false
	}
	for _, n := range nodes {
		item, ok := c.locate(n, true)
		if !ok {
			return nil, false
		}
		all = append(all, item)
	}
	return all, true
}

func (c *Config) put(from, to int, text string) Change {
	return Change{Do: Put, From: from, To: to, Old: string(c.Text[from:to]), Text: text}
}

// key returns where the key of a value starts, and the text between the two.
func (c *Config) key(value located, name string) (start int, sign string, ok bool) {
	before := c.Text[:value.from]
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
func (c *Config) keysAt(path []any) (all []writtenKey) {
	shift := 0
	if c.marked() {
		shift = len(byteOrderMark)
	}
	for _, k := range c.Doc.Keys(path...) {
		all = append(all, writtenKey{k, k.From + shift, k.To + shift})
	}
	return all
}
