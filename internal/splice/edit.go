package splice

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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
		return nil, d.refuse(path, err.Error(), nil)
	}
	next := d
	// Remove and replace first, then add, so that no edit depends on a comma that
	// a different edit moves.
	for _, adding := range []bool{false, true} {
		e := editor{d: next, adding: adding}
		if why := e.set(path, want); why != "" {
			return nil, d.refuse(path, why, want)
		}
		if next, err = e.done(); err != nil {
			return nil, d.refuse(path, err.Error(), want)
		}
	}
	return d.verified(next, path, change{set: true, want: want})
}

// Remove removes a member or an item with its comma, its line and the comment at
// the end of that line. Comments on lines of their own stay.
func (d *Document) Remove(path []any) (*Document, error) {
	at, why := d.locate(path)
	if why != "" {
		return nil, d.refuse(path, why, nil)
	}
	if at.parent == nil {
		return nil, d.refuse(path, "the whole file cannot be removed", nil)
	}
	e := editor{d: d}
	gone := []int{at.index}
	if name, isName := path[len(path)-1].(string); isName {
		gone = nil
		for i, c := range at.parent.children {
			if c.name == name {
				gone = append(gone, i)
			}
		}
	}
	if why := e.remove(at.parent, at.holder, gone); why != "" {
		return nil, d.refuse(path, why, nil)
	}
	next, err := e.done()
	if err != nil {
		return nil, d.refuse(path, err.Error(), nil)
	}
	return d.verified(next, path, change{remove: true})
}

// Rename changes the key of a member and leaves its value unchanged.
func (d *Document) Rename(path []any, name string) (*Document, error) {
	at, why := d.locate(path)
	if why != "" {
		return nil, d.refuse(path, why, nil)
	}
	old, isName := "", false
	if at.parent != nil {
		old, isName = path[len(path)-1].(string)
	}
	switch {
	case !isName:
		return nil, d.refuse(path, "only members of a map have a key", nil)
	case old == name:
		return d, nil
	case at.parent.step(name) != nil:
		return nil, d.refuse(path, "the key "+quoted(name)+" already exists", nil)
	case !utf8.ValidString(name):
		return nil, d.refuse(path, "the new key is not valid UTF-8", nil)
	}
	e := editor{d: d}
	for _, span := range d.keySpans(at, old) {
		e.patch(span[0], span[1], e.printer(at.parent).keyLike(name, d.text[span[0]]))
	}
	next, err := e.done()
	if err != nil {
		return nil, d.refuse(path, err.Error(), nil)
	}
	return d.verified(next, path, change{rename: true, name: name})
}

// keySpans returns where the key of a member is written: once, or several times in TOML.
func (d *Document) keySpans(at *place, name string) [][2]int {
	if d.format == TOML {
		return d.written(at.parent, name)
	}
	c := at.parent.children[at.index]
	return [][2]int{{c.start, c.keyEnd}}
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
	at, why := d.locate(path)
	if why != "" || at.parent == nil {
		return nil
	}
	name, isName := path[len(path)-1].(string)
	if !isName {
		return nil
	}
	e := editor{d: d}
	for _, span := range d.keySpans(at, name) {
		all = append(all, Key{From: span[0], To: span[1], printer: e.printer(at.parent), first: d.text[span[0]]})
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
		switch step := step.(type) {
		case string:
			if at.node.kind != MapKind {
				return at, steps, ""
			}
			for i, c := range at.node.children {
				if c.name == step && !c.hidden {
					found = i
				}
			}
		case int:
			if at.node.kind == ListKind && step >= 0 && step < len(at.node.children) {
				found = step
			}
		default:
			return at, steps, fmt.Sprintf("a path consists of keys and indexes, not %T", step)
		}
		if found < 0 {
			return at, steps, ""
		}
		at = at.down(found)
		steps++
	}
	return at, steps, ""
}

// locate follows a path that must exist.
func (d *Document) locate(path []any) (*place, string) {
	at, steps, why := d.reach(path)
	if why != "" {
		return nil, why
	}
	if steps < len(path) {
		return nil, fmt.Sprintf("%v does not exist", path[steps])
	}
	if at.node.containsAliased() {
		return nil, "aliases refer to a nested value"
	}
	return at, ""
}

func (n *node) containsAliased() bool {
	if n.anchor != "" && n.aliased {
		return true
	}
	return slices.ContainsFunc(n.children, func(c child) bool { return c.node.containsAliased() })
}

func (d *Document) refuse(path []any, why string, want any) error {
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
func (e *editor) done() (*Document, error) {
	if len(e.patches) == 0 {
		return e.d, nil
	}
	slices.SortStableFunc(e.patches, func(a, b patch) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, p := range e.patches {
		if p.from < at {
			// Two removals may overlap in the white space between them.
			if p.with != "" {
				return nil, fmt.Errorf("two changes overlap")
			}
			at = max(at, p.to)
			continue
		}
		out.WriteString(e.d.text[at:p.from])
		out.WriteString(p.with)
		at = p.to
	}
	out.WriteString(e.d.text[at:])
	next, err := read(e.d.format, e.d.form, out.String())
	if err != nil {
		return nil, fmt.Errorf("the result would not be valid (%w)", err)
	}
	return next, nil
}

func (e *editor) set(path []any, want any) string {
	at, steps, why := e.d.reach(path)
	if why != "" {
		return why
	}
	if steps == len(path) {
		return e.update(at, want)
	}
	if !e.adding && !(at.node.kind == NullKind) {
		return ""
	}
	// Add the missing maps.
	rest := want
	for i := len(path) - 1; i > steps; i-- {
		switch step := path[i].(type) {
		case string:
			rest = Map{{step, rest}}
		case int:
			if step != 0 {
				return fmt.Sprintf("%v does not exist", path[:i+1])
			}
			rest = []any{rest}
		default:
			return fmt.Sprintf("a path consists of keys and indexes, not %T", step)
		}
	}
	switch step := path[steps].(type) {
	case string:
		if at.node.kind == NullKind {
			return e.replace(at, Map{{step, rest}})
		}
		if at.node.kind == MapKind {
			return e.insert(at, len(at.node.children), Map{{step, rest}})
		}
		return fmt.Sprintf("%v cannot be added to a value that is not a map", step)
	case int:
		if at.node.kind == ListKind && step == len(at.node.children) {
			return e.insert(at, step, Map{{"", rest}})
		}
		return fmt.Sprintf("item %d does not exist", step)
	}
	return fmt.Sprintf("a path consists of keys and indexes, not %T", path[steps])
}

// update changes a node to a value with as few patches as possible.
func (e *editor) update(at *place, want any) string {
	n := at.node
	if n.target == nil && equal(n.value(), want) && !n.absent {
		return ""
	}
	if n.anchor != "" && n.aliased {
		return "aliases refer to the value"
	}
	if n.tagged {
		return "the value has a tag"
	}
	if n.target == nil && !n.absent {
		switch want := want.(type) {
		case Map:
			if n.kind == MapKind && (n.scattered || n.shares(want)) {
				return e.updateMap(at, want)
			}
		case []any:
			if n.kind == ListKind && len(n.children) > 0 && len(want) > 0 {
				return e.updateList(at, want)
			}
		}
	}
	if n.absent && n.kind == MapKind { // an empty file
		if want, isMap := want.(Map); isMap {
			if e.adding && len(want) > 0 {
				return e.insert(at, 0, want)
			}
			return ""
		}
		return "the top level of the file must be a map"
	}
	if n.containsAliased() {
		return "aliases refer to a nested value"
	}
	if e.adding {
		// The first pass has replaced it, unless it was scattered.
		return "a table cannot become a value of a different type here"
	}
	if n.scattered && at.parent == nil {
		return "the top level of the file must be a map"
	}
	if n.scattered {
		return e.remove(at.parent, at.holder, []int{at.index})
	}
	return e.replace(at, want)
}

// shares reports whether n has a key of want.
func (n *node) shares(want Map) bool {
	return slices.ContainsFunc(want, func(m Member) bool { return n.find(m.Name) != nil })
}

func (e *editor) updateMap(at *place, want Map) string {
	n := at.node
	var gone []int
	for i, c := range n.children {
		if c.hidden || c.isMerge() {
			continue
		}
		m := slices.IndexFunc(want, func(m Member) bool { return m.Name == c.name })
		if m < 0 {
			for j, other := range n.children {
				if other.name == c.name {
					gone = append(gone, j)
				}
			}
			if c.node.containsAliased() {
				return "aliases refer to a nested value"
			}
			continue
		}
		if why := e.update(at.down(i), want[m].Value); why != "" {
			return why
		}
	}
	if !e.adding {
		if len(gone) > 0 {
			return e.remove(n, at, gone)
		}
		return ""
	}
	// New members follow the member that they follow in want.
	index := 0
	var fresh Map
	flush := func() (why string) {
		if len(fresh) > 0 {
			why = e.insert(at, index, fresh)
		}
		fresh = nil
		return why
	}
	for _, m := range want {
		if n.find(m.Name) == nil {
			fresh = append(fresh, m)
			continue
		}
		if why := flush(); why != "" {
			return why
		}
		index = 1 + slices.IndexFunc(n.children, func(c child) bool { return c.name == m.Name && !c.hidden })
	}
	return flush()
}

// updateList keeps the common items at the beginning and at the end.
func (e *editor) updateList(at *place, want []any) string {
	n := at.node
	old := len(n.children)
	head := 0
	for head < min(old, len(want)) && equal(n.children[head].node.value(), want[head]) {
		head++
	}
	tail := 0
	for tail < min(old, len(want))-head && equal(n.children[old-1-tail].node.value(), want[len(want)-1-tail]) {
		tail++
	}
	both := min(old, len(want)) - head - tail
	for i := head; i < head+both; i++ {
		if why := e.update(at.down(i), want[i]); why != "" {
			return why
		}
	}
	if !e.adding {
		var gone []int
		for i := head + both; i < old-tail; i++ {
			if n.children[i].node.containsAliased() {
				return "aliases refer to a nested value"
			}
			gone = append(gone, i)
		}
		if len(gone) > 0 {
			return e.remove(n, at, gone)
		}
		return ""
	}
	var fresh Map
	for _, item := range want[head+both : len(want)-tail] {
		fresh = append(fresh, Member{"", item})
	}
	if len(fresh) == 0 {
		return ""
	}
	return e.insert(at, head+both, fresh)
}

// replace overwrites the value at a place.
func (e *editor) replace(at *place, want any) string {
	n := at.node
	if e.d.format == YAML && (at.parent == nil || !at.parent.bracketed) && !(n.bracketed && isContainer(want)) {
		return e.replaceBlock(at, want)
	}
	p := e.printer(at.parent)
	model := n
	multi := e.d.format == JSON || e.d.format == JSONC || e.d.format == TOML && !p.inInline(at)
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
	return ""
}

// insert adds members or items before the child with that index.
func (e *editor) insert(at *place, index int, fresh Map) string {
	n := at.node
	switch {
	case n.target != nil:
		return "the value is an alias"
	case n.aliased && n.anchor != "":
		return "aliases refer to the value"
	case n.tagged:
		return "the value has a tag"
	case n.absent && (e.d.format == JSON || e.d.format == JSONC):
		p := e.printer(nil)
		with := p.flow(fresh, nil, "", true)
		if len(e.d.text) == 0 || !strings.HasSuffix(e.d.text, "\n") {
			with += p.nl
			if len(e.d.text) > 0 {
				with = p.nl + with
			}
		} else {
			with += p.nl
		}
		e.patch(len(e.d.text), len(e.d.text), with)
		return ""
	case n.bracketed && e.d.format == YAML && len(n.children) == 0 && (at.parent == nil || !at.parent.bracketed) && strings.TrimSpace(e.d.text[n.start+1:n.end-1]) == "":
		if n.kind == MapKind {
			return e.replaceBlock(at, fresh)
		}
		return e.replaceBlock(at, values(fresh))
	case n.bracketed:
		return e.insertBracketed(at, index, fresh)
	case e.d.format == YAML:
		return e.insertBlock(at, index, fresh)
	case e.d.format == TOML && n.kind == ListKind:
		return e.insertTables(at, index, fresh)
	case e.d.format == TOML:
		return e.insertEntries(at, fresh)
	}
	return "nothing can be added here"
}

// remove removes children of n, whose place is holder.
func (e *editor) remove(n *node, holder *place, gone []int) string {
	slices.Sort(gone)
	gone = slices.Compact(gone)
	switch {
	case n.aliased && n.anchor != "":
		return "aliases refer to the value"
	case n.bracketed:
		return e.removeBracketed(n, gone)
	case e.d.format == YAML:
		return e.removeBlock(holder, gone)
	case e.d.format == TOML:
		return e.removeTables(n, gone)
	}
	return "nothing can be removed here"
}
