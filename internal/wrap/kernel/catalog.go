package kernel

import (
	"bytes"
	"hash/maphash"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// catalog is what the server has listed: the items of each list in the order the client saw them,
// the pages as they came, and what the tools declare.
type catalog struct {
	lists map[string]*list
	tools map[string]tool

	listed     bool   // tools is complete
	stale      bool   // the server has announced that its tools changed
	changedAt  uint64 // value of order.sends at that time
	remembered bool   // tools is from the shelf or an earlier connection: the live server has not listed it yet
	listedOn   int    // the generation that was last asked for its tools by gauze

	exact bool                              // Options.Sure: a tool has changed if anything in its definition has
	read  func(item []byte, before any) any // Options.ReadTool
	ready func([]any)                       // is told about some of these; may be nil
}

// list is one of tools, prompts, resources, resource templates.
type list struct {
	pages map[string][]byte // raw result by cursor, to answer from while the server is down
	items []uint64          // hash of every item, in order
	next  string            // cursor of the next page
	whole bool              // the last page was seen
}

// tool is what decisions need to know about a tool.
type tool struct {
	shape   uint64 // hash of name, schema and annotations; of everything if the catalog is exact
	class   Class
	mirrors []wire.Mirror // arguments that HTTP repeats in headers
	data    any           // what stages have to know of it
}

// kinds maps a list method to the key of its items and the notification that it changed.
var kinds = map[string]struct{ items, changed string }{
	"tools/list":               {"tools", "notifications/tools/list_changed"},
	"prompts/list":             {"prompts", "notifications/prompts/list_changed"},
	"resources/list":           {"resources", "notifications/resources/list_changed"},
	"resources/templates/list": {"resourceTemplates", "notifications/resources/list_changed"},
}

func newCatalog() catalog { return catalog{lists: map[string]*list{}, tools: map[string]tool{}} }

// fresh returns a catalog of which nothing is known yet.
func (k *catalog) fresh() catalog {
	other := newCatalog()
	other.exact, other.read, other.ready = k.exact, k.read, k.ready
	return other
}

// learn adds one page. cursor is the raw cursor it was requested with, empty for the first page.
// next is the raw cursor of the following page, if any.
func (k *catalog) learn(method, cursor string, result []byte) (next string) {
	kind, ok := kinds[method]
	if !ok {
		return ""
	}
	var values [2][]byte
	if wire.Fields(result, values[:], kind.items, "nextCursor") != nil || values[0] == nil {
		return ""
	}
	known := k.lists[method]
	if known == nil || cursor == "" {
		known = &list{pages: map[string][]byte{}}
		k.lists[method] = known
	} else if cursor != known.next {
		return "" // a page out of order says nothing about the whole
	}
	if method == "tools/list" && cursor == "" {
		k.tools = map[string]tool{}
	}
	known.pages[cursor] = bytes.Clone(result)
	wire.Elements(values[0], func(item []byte) {
		known.items = append(known.items, maphash.Bytes(signSeed, item))
		if method == "tools/list" {
			if name, t, ok := readTool(item); ok {
				if k.read != nil {
					t.data = k.read(item, k.tools[name].data)
				}
				if k.exact {
					t.shape = k.tools[name].shape + maphash.Bytes(signSeed, item) // also of those before it with the same name
				}
				k.tools[name] = t
			}
		}
	})
	next = nextCursor(values[1])
	known.next, known.whole = next, next == ""
	if method == "tools/list" {
		k.listed, k.remembered = known.whole, k.remembered && cursor != ""
		k.makeReady()
	}
	return next
}

// nextCursor returns the raw cursor of the following page, empty after the last one.
func nextCursor(raw []byte) string {
	if next := string(raw); next != "null" && next != `""` {
		return next
	}
	return ""
}

// maxReady is how many tools are prepared in advance: of many tools few are called, and each takes some
// ten kilobytes.
const maxReady = 16

// makeReady prepares tools before the first call needs them.
func (k *catalog) makeReady() {
	if k.ready == nil {
		return
	}
	some := make([]any, 0, maxReady)
	for _, t := range k.tools {
		if len(some) < maxReady {
			some = append(some, t.data)
		}
	}
	go k.ready(some)
}

// change notes that the server announced different tools. Until they are listed, calls are not
// validated against the old ones.
func (k *catalog) change(sends uint64) { k.stale, k.changedAt = true, sends }

// settle notes that the client listed the tools, if that was after the last change.
func (k *catalog) settle(c *Call) {
	if c.msg.Method == "tools/list" && c.order > k.changedAt && cursorOf(c.msg.Params) == "" {
		k.stale = false
	}
}

// licenses reports whether the live server has listed the tools as they are.
func (k *catalog) licenses() bool { return !k.stale && !k.remembered }

// hinted returns what the live server's own list says about a tool. While the list is out of date or only
// remembered, and for a tool that is not listed, that is nothing.
func (k *catalog) hinted(name string) Class {
	if known, ok := k.tools[name]; ok && k.licenses() {
		return known.class
	}
	return Unsafe
}

// readTool reads what a tool declares. By the spec's defaults, neither read-only nor idempotent, a
// tool without annotations is unsafe.
func readTool(item []byte) (name string, t tool, ok bool) {
	var values [3][]byte
	if wire.Fields(item, values[:], "name", "inputSchema", "annotations") != nil {
		return "", t, false
	}
	if name, ok = wire.Text(values[0]); !ok {
		return "", t, false
	}
	var hash maphash.Hash
	hash.SetSeed(signSeed)
	for _, value := range values {
		hash.Write(value)
		hash.WriteByte(0)
	}
	t = tool{shape: hash.Sum64(), class: Unsafe, mirrors: wire.Mirrors(values[1])}
	var hints [2][]byte
	if wire.Fields(values[2], hints[:], "readOnlyHint", "idempotentHint") != nil {
		return name, t, true
	}
	switch {
	case string(hints[0]) == "true":
		t.class = ReadOnly
	case string(hints[1]) == "true":
		t.class = Idempotent
	}
	return name, t, true
}

// cached returns the page the client saw last; nil: none.
func (k *catalog) cached(method, cursor string) []byte {
	if known := k.lists[method]; known != nil {
		return known.pages[cursor]
	}
	return nil
}

// differs reports whether the list, as far as the client saw it, is different now.
func (l *list) differs(now *list) bool {
	if now == nil || len(now.items) < len(l.items) || l.whole && len(now.items) != len(l.items) {
		return true
	}
	for i, item := range l.items {
		if now.items[i] != item {
			return true
		}
	}
	return false
}
