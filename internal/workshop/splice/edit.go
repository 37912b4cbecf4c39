package splice

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// A RefusedError reports an edit that was not made. The document is unchanged.
type RefusedError struct {
	Line    int
	Why     string
	Snippet string // what to write there by hand, if anything
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("line %d cannot be edited safely: %s; edit it by hand", e.Line, e.Why)
	if e.Snippet != "" {
		text += ":\n" + e.Snippet
	}
	return text
}

// Set replaces the value at a path or adds it, with any missing maps on the way.
// An index equal to the length of a list appends an item.
//
// Members and items that do not change keep their place and their comments. New
// members follow the member that they follow in value; a member that the path
// adds becomes the last one. A value may be nil, bool, string, int, json.Number,
// Clock, Map, []any or []string.
func (d *Document) Set(path []any, value any) (*Document, error) {
	want, err := plain(d.format, value)
	if err != nil {
		return nil, d.refused(path, err.Error(), nil)
	}
	// Remove and replace first, then add, so that no edit depends on a comma that
	// a different edit moves.
	return d.edit(path, change{set: true, want: want}, func(e *editor) {
		e.set(path, want)
		*e = editor{d: e.done(), adding: true}
		e.set(path, want)
	})
}

// Remove removes a member or an item with its comma, its line and the comment at
// the end of that line. Comments on lines of their own stay.
func (d *Document) Remove(path []any) (*Document, error) {
	return d.edit(path, change{remove: true}, func(e *editor) {
		at := d.locate(path)
		if at.parent == nil {
			refuse("the whole file cannot be removed")
		}
		e.remove(at.holder, at.parent.alike(at.index)...)
	})
}

// Rename changes the key of a member and leaves its value unchanged.
func (d *Document) Rename(path []any, name string) (*Document, error) {
	return d.edit(path, change{rename: true, name: name}, func(e *editor) {
		at := d.locate(path)
		switch {
		case at.parent == nil || at.parent.kind != MapKind:
			refuse("only members of a map have keys")
		case at.child().name == name:
			return
		case at.parent.step(name) != nil:
			refuse("the key " + quoted(name) + " already exists")
		case !utf8.ValidString(name):
			refuse("the new key is not valid UTF-8")
		}
		keys := d.Keys(path...)
		if len(keys) == 0 {
			refuse(reasonDottedInline)
		}
		for _, k := range keys {
			e.patch(k.From, k.To, k.Like(name))
		}
	})
}

// refusal is the panic value with which an edit gives up. edit recovers it.
type refusal string

func refuse(why string) { panic(refusal(why)) }

// edit returns the document after an edit, if it makes exactly one change.
func (d *Document) edit(path []any, c change, make func(*editor)) (next *Document, err error) {
	defer func() {
		switch stop := recover().(type) {
		case nil:
		case refusal:
			next, err = nil, d.refused(path, string(stop), c.want)
		default:
			panic(stop)
		}
	}()
	e := &editor{d: d}
	make(e)
	next = e.done()
	if next != d {
		d.verify(next, path, c)
	}
	return next, nil
}

// A Key is one position at which the key of a member is written.
type Key struct {
	From, To int // in bytes, not counting a byte order mark

	printer *printer
	first   byte
}

// Like returns a different key in the style of this one: with the same quotes, if that is possible.
func (k Key) Like(name string) string { return k.printer.keyLike(name, k.first) }

// Keys returns every position at which the key of a member is written. There is none if the path
// does not lead to a member of a map, or leads through a YAML alias.
func (d *Document) Keys(path ...any) (all []Key) {
	at, why := d.find(path)
	if why != "" || at.parent == nil || at.parent.kind != MapKind {
		return nil
	}
	spans := [][2]int{{at.child().start, at.child().keyEnd}}
	if d.format == TOML {
		spans = d.written(at.parent, at.child().name)
	}
	p := (&editor{d: d}).printer(at.parent)
	for _, span := range spans {
		all = append(all, Key{From: span[0], To: span[1], printer: p, first: d.text[span[0]]})
	}
	return all
}

// place is a node and its position in the tree.
type place struct {
	node   *node
	parent *node
	index  int
	holder *place // place of the parent
}

func (at place) child() *child {
	if at.parent == nil {
		return nil
	}
	return &at.parent.children[at.index]
}

func (at *place) down(i int) *place {
	return &place{node: at.node.children[i].node, parent: at.node, index: i, holder: at}
}

// reach follows a path as far as it exists and returns the number of steps taken.
func (d *Document) reach(path []any) (at *place, steps int, why string) {
	at = &place{node: d.root}
	for _, step := range path {
		if at.node.target != nil {
			return at, steps, "the value is an alias"
		}
		if at.node.anchor != "" && at.node.aliased {
			return at, steps, "aliases refer to the value"
		}
		found := -1
		for i, c := range at.node.children {
			if at.node.kind == MapKind && c.name == step && !c.hidden || at.node.kind == ListKind && i == step {
				found = i
			}
		}
		if found < 0 {
			return at, steps, ""
		}
		at = at.down(found)
		steps++
	}
	return at, steps, ""
}

// find follows a path that must exist.
func (d *Document) find(path []any) (at *place, why string) {
	at, steps, why := d.reach(path)
	switch {
	case why != "":
	case steps < len(path):
		why = fmt.Sprintf("%v does not exist", path[steps])
	case at.node.containsAliased():
		why = "aliases refer to a nested value"
	}
	return at, why
}

func (d *Document) locate(path []any) *place {
	at, why := d.find(path)
	if why != "" {
		refuse(why)
	}
	return at
}

func (n *node) containsAliased() bool {
	if n.anchor != "" && n.aliased {
		return true
	}
	return slices.ContainsFunc(n.children, func(c child) bool { return c.node.containsAliased() })
}

func (d *Document) refused(path []any, why string, want any) error {
	at, _, _ := d.reach(path)
	line, _ := d.position(min(at.node.start, len(d.text)))
	refused := &RefusedError{Line: line, Why: why}
	if want != nil && len(path) > 0 {
		if name, ok := path[len(path)-1].(string); ok {
			p := printer{format: JSON, nl: "\n", style: fileStyle{colon: ": ", gap: " ", unit: "  "}}
			refused.Snippet = p.key(name) + ": " + p.flow(want, nil, "", true)
		}
	}
	return refused
}

// editor collects the changes that one pass makes to the text.
type editor struct {
	d       *Document
	adding  bool
	patches []patch
}

type patch struct {
	from, to int
	with     string
}

func (e *editor) patch(from, to int, with string) {
	e.patches = append(e.patches, patch{from, to, with})
}

// done applies the patches and parses the result.
func (e *editor) done() *Document {
	if len(e.patches) == 0 {
		return e.d
	}
	sorting.Stable(e.patches, func(a, b patch) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, p := range e.patches {
		if p.from >= at {
			out.WriteString(e.d.text[at:p.from])
			out.WriteString(p.with)
		} else if p.with != "" { // two removals may overlap in the white space between them
			refuse("two changes overlap")
		}
		at = max(at, p.to)
	}
	out.WriteString(e.d.text[at:])
	next, err := read(e.d.format, e.d.form, out.String())
	if err != nil {
		refuse(fmt.Sprintf("the result would not be valid (%v)", err))
	}
	return next
}

func (e *editor) set(path []any, want any) {
	at, steps, why := e.d.reach(path)
	switch {
	case why != "":
		refuse(why)
	case steps == len(path):
		e.update(at, want)
		return
	case !e.adding && at.node.kind != NullKind:
		return
	}
	// Add the missing maps.
	for _, step := range path[steps+1:] {
		if index, isIndex := step.(int); isIndex && index != 0 {
			refuse(fmt.Sprintf("%v does not exist", path))
		}
	}
	rest := nest(path[steps+1:], want)
	name, isName := path[steps].(string)
	switch {
	case isName && at.node.kind == NullKind:
		e.replace(at, Map{{name, rest}})
	case isName && at.node.kind == MapKind, at.node.kind == ListKind && path[steps] == len(at.node.children):
		e.insert(at, len(at.node.children), Map{{name, rest}})
	case isName:
		refuse(fmt.Sprintf("%v cannot be added to a value that is not a map", name))
	default:
		refuse(fmt.Sprintf("item %v does not exist", path[steps]))
	}
}

// update changes a node to a value with as few patches as possible.
func (e *editor) update(at *place, want any) {
	n := at.node
	items, _ := want.([]any)
	members, isMap := want.(Map)
	written := n.target == nil && !n.absent
	switch {
	case written && equal(n.value(), want):
	case n.anchor != "" && n.aliased:
		refuse("aliases refer to the value")
	case n.tagged:
		refuse("the value has a tag")
	case written && isMap && n.kind == MapKind && (n.scattered || n.shares(members)):
		e.updateMap(at, members)
	case written && n.kind == ListKind && len(n.children) > 0 && len(items) > 0:
		e.updateList(at, items)
	case n.absent && n.kind == MapKind && isMap: // an empty file
		if e.adding {
			e.insert(at, 0, members)
		}
	case (n.absent && n.kind == MapKind || n.scattered) && at.parent == nil:
		refuse("the top level of the file must be a map")
	case n.containsAliased():
		refuse("aliases refer to a nested value")
	case e.adding: // The first pass has replaced it, unless it was scattered.
		refuse("a table cannot become a value of another type here")
	case n.scattered:
		e.remove(at.holder, at.index)
	default:
		e.replace(at, want)
	}
}

// shares reports whether n has a key of want.
func (n *node) shares(want Map) bool {
	return slices.ContainsFunc(want, func(m Member) bool { return n.find(m.Name) != nil })
}

func (e *editor) updateMap(at *place, want Map) {
	n := at.node
	var gone []int
	for i, c := range n.children {
		if c.hidden || c.isMerge() {
			continue
		}
		m := slices.IndexFunc(want, func(m Member) bool { return m.Name == c.name })
		switch {
		case m >= 0:
			e.update(at.down(i), want[m].Value)
		case c.node.containsAliased():
			refuse("aliases refer to a nested value")
		default:
			gone = append(gone, n.alike(i)...)
		}
	}
	if !e.adding {
		e.remove(at, gone...)
		return
	}
	// New members follow the member that they follow in want.
	index := 0
	var fresh Map
	for i, m := range want {
		if n.find(m.Name) == nil {
			fresh = append(fresh, m)
		} else {
			index = 1 + slices.IndexFunc(n.children, func(c child) bool { return c.name == m.Name && !c.hidden })
		}
		if i == len(want)-1 || n.find(want[i+1].Name) != nil {
			e.insert(at, index, fresh)
			fresh = nil
		}
	}
}

// updateList keeps the common items at the beginning and at the end.
func (e *editor) updateList(at *place, want []any) {
	n := at.node
	old := len(n.children)
	head, tail, most := 0, 0, min(old, len(want))
	for head < most && equal(n.children[head].node.value(), want[head]) {
		head++
	}
	for tail < most-head && equal(n.children[old-1-tail].node.value(), want[len(want)-1-tail]) {
		tail++
	}
	middle := most - tail // up to here, items change
	for i := head; i < middle; i++ {
		e.update(at.down(i), want[i])
	}
	if e.adding {
		var fresh Map
		for _, item := range want[middle : len(want)-tail] {
			fresh = append(fresh, Member{"", item})
		}
		e.insert(at, middle, fresh)
		return
	}
	var gone []int
	for i := middle; i < old-tail; i++ {
		if n.children[i].node.containsAliased() {
			refuse("aliases refer to a nested value")
		}
		gone = append(gone, i)
	}
	e.remove(at, gone...)
}

// replace overwrites the value at a place.
func (e *editor) replace(at *place, want any) {
	n := at.node
	if e.d.format == YAML && (at.parent == nil || !at.parent.bracketed) && !(n.bracketed && isContainer(want)) {
		e.replaceBlock(at, want)
		return
	}
	p := e.printer(at.parent)
	model := n
	multi := e.d.isJSON() || e.d.format == TOML && !p.inInline(at)
	if at.parent != nil && kindOf(want) != n.kind {
		model = at.parent.model(want, "")
		_, own := margin(e.d.text, at.child().start)
		multi = multi && own
	}
	with := p.flow(want, model, indentOf(e.d.text, n.start), multi)
	if n.absent {
		with = " " + with
	}
	e.patch(n.start, n.end, with)
}

// insert adds members or items, if there are any, before the child with that index.
func (e *editor) insert(at *place, index int, fresh Map) {
	n := at.node
	switch {
	case len(fresh) == 0:
	case n.target != nil:
		refuse("the value is an alias")
	case n.aliased && n.anchor != "":
		refuse("aliases refer to the value")
	case n.tagged:
		refuse("the value has a tag")
	case n.absent && e.d.isJSON():
		p := e.printer(nil)
		e.append(p.nl, p.flow(fresh, nil, "", true))
	case e.d.format == YAML && n.isEmptyFlow(e.d.text) && (at.parent == nil || !at.parent.bracketed):
		e.replaceBlock(at, n.filledWith(fresh))
	case n.bracketed:
		e.insertBracketed(at, index, fresh)
	case e.d.format == YAML:
		e.insertBlock(at, index, fresh)
	case n.kind == ListKind:
		e.insertTables(at, index, fresh)
	default:
		e.insertEntries(at, fresh)
	}
}

// isEmptyFlow reports whether n is written as {} or [].
func (n *node) isEmptyFlow(text string) bool {
	return n.bracketed && len(n.children) == 0 && strings.TrimSpace(text[n.start+1:n.end-1]) == ""
}

// append adds lines at the end of the file, which stays without a newline if it has none.
func (e *editor) append(nl, with string) {
	end := len(e.d.text)
	if end > 0 && e.d.text[end-1] != '\n' {
		e.patch(end, end, nl+with)
	} else {
		e.patch(end, end, with+nl)
	}
}

// remove removes children of the node at a place, if there are any.
func (e *editor) remove(at *place, gone ...int) {
	n := at.node
	slices.Sort(gone)
	gone = slices.Compact(gone)
	switch {
	case len(gone) == 0:
	case n.aliased && n.anchor != "":
		refuse("aliases refer to the value")
	case n.bracketed:
		e.removeBracketed(n, gone)
	case e.d.format == YAML:
		e.removeBlock(at, gone)
	default:
		e.removeTables(n, gone)
	}
}

// alike returns the index of a child and, in a map, of those with the same key.
func (n *node) alike(i int) []int {
	all := []int{i}
	for j, c := range n.children {
		if n.kind == MapKind && c.name == n.children[i].name && j != i {
			all = append(all, j)
		}
	}
	return all
}
