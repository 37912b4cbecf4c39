package splice

import (
	"slices"
	"strings"
)

// Edits of TOML tables, whose parts may be anywhere in the file.

// written returns every position at which a key of a table is written.
func (d *Document) written(parent *node, name string) [][2]int {
	var spans [][2]int
	collect := func(keys []key) {
		for _, k := range keys {
			if k.parent == parent && k.name == name {
				spans = append(spans, [2]int{k.start, k.end})
			}
		}
	}
	for _, b := range d.blocks {
		collect(b.keys)
		for _, e := range b.entries {
			collect(e.keys)
		}
	}
	if parent.bracketed {
		if c := parent.find(name); c != nil && !c.node.scattered {
			spans = append(spans, [2]int{c.start, c.keyEnd})
		}
	}
	return spans
}

// inInline reports whether a place is inside an inline table, which must be on
// one line.
func (p *printer) inInline(at *place) bool {
	for ; at != nil; at = at.holder {
		if at.node.bracketed && at.node.kind == MapKind && p.format == TOML {
			return true
		}
	}
	return false
}

// contentEnd returns the end of the last line of a block, including its comment.
func (d *Document) contentEnd(b *block) int {
	end := b.end
	if len(b.entries) > 0 {
		end = b.entries[len(b.entries)-1].end
	}
	end, _ = d.trimmedTail(end)
	return end
}

// withComments skips the comment lines directly below at, unless they are
// directly above a header and so belong to it.
func (d *Document) withComments(at int) int {
	end := at
	for p := nextLine(d.text, at); p < len(d.text) && p > at; p = nextLine(d.text, p) {
		first := skipSpace(d.text, p)
		if first < len(d.text) && d.text[first] == '[' {
			return at
		}
		if first >= len(d.text) || d.text[first] != '#' {
			break
		}
		end = lineEnd(d.text, p)
	}
	return end
}

// path returns the dotted key of a table as written in a header, or "".
func (d *Document) path(n *node) string {
	for _, b := range d.blocks {
		keys := 0
		for i, step := range b.chain {
			if i > 0 && b.chain[i-1].kind == MapKind { // an item of a list has no key
				keys++
			}
			if step == n && i > 0 {
				return d.text[b.keys[0].start:b.keys[keys-1].end]
			}
		}
	}
	return ""
}

// lastBlock returns the last block of a table or list.
func (d *Document) lastBlock(n *node) *block {
	for i := len(d.blocks) - 1; i > 0; i-- {
		if slices.Contains(d.blocks[i].chain, n) {
			return &d.blocks[i]
		}
	}
	return &d.blocks[len(d.blocks)-1]
}

func (d *Document) blockOf(n *node) *block {
	for i := range d.blocks {
		if d.blocks[i].node == n {
			return &d.blocks[i]
		}
	}
	return nil
}

// blankLines returns how many blank lines the file has before headers.
func (d *Document) blankLines() int {
	for i := len(d.blocks) - 1; i > 0; i-- {
		start := lineStart(d.text, d.blocks[i].start)
		if start == 0 {
			continue
		}
		above := lineStart(d.text, prevLineEnd(d.text, start))
		if skipSpace(d.text, above) == prevLineEnd(d.text, start) {
			return 1
		}
		if d.text[skipSpace(d.text, above)] != '#' {
			return 0
		}
	}
	return 1
}

const reasonNotLocated = "the table cannot be located"

// insertEntries adds members to a table: values as lines, maps like their
// neighbours or as tables.
func (e *editor) insertEntries(at *place, fresh Map) {
	n := at.node
	var lines Map
	var tables []string
	p, prefix := e.printer(n), ""
	if at.parent != nil {
		prefix = e.d.path(n) + "."
	}
	for _, m := range fresh {
		if !e.asTable(n, m) {
			lines = append(lines, m)
		} else if prefix == "." {
			refuse(reasonNotLocated)
		} else {
			tables = append(tables, p.tables(prefix+tomlKey(m.Name), m.Value.(Map), n.model(m.Value, m.Name), false)...)
		}
	}
	if len(lines) > 0 {
		e.insertLines(at, p, lines)
	}
	if len(tables) > 0 {
		e.insertParts(p, e.d.lastBlock(n), tables)
	}
}

// asTable reports whether a new member of n gets a header.
func (e *editor) asTable(n *node, m Member) bool {
	if kindOf(m.Value) != MapKind || n.origin == originDotted {
		return false
	}
	if model := n.model(m.Value, m.Name); model != nil {
		return model.scattered && model.origin != originDotted
	}
	if model := e.cousin(n, m.Name); model != nil {
		return model.scattered && model.origin != originDotted
	}
	return true
}

// cousin returns a map with the same key in a sibling of n, such as the env of
// another server.
func (e *editor) cousin(n *node, name string) *node {
	for _, b := range e.d.blocks {
		i := slices.Index(b.chain, n)
		if i <= 0 {
			continue
		}
		siblings := b.chain[i-1].children
		for j := len(siblings) - 1; j >= 0 && j >= len(siblings)-maxSamples; j-- {
			if s := siblings[j].node; s != n && s.kind == MapKind {
				if c := s.find(name); c != nil && c.node.kind == MapKind {
					return c.node
				}
			}
		}
	}
	return nil
}

func (e *editor) insertLines(at *place, p *printer, fresh Map) {
	n, d := at.node, e.d
	lines := func(prefix, indent string) string {
		var lines []string
		for _, m := range fresh {
			value := p.flow(m.Value, n.model(m.Value, m.Name), indent, !p.inInline(at))
			lines = append(lines, indent+prefix+tomlKey(m.Name)+p.style.colon+value)
		}
		return strings.Join(lines, p.nl)
	}
	below := func(start, end int, prefix string) {
		end, _ = d.trimmedTail(end)
		e.patch(end, end, p.nl+lines(prefix, indentOf(d.text, start)))
	}
	b := d.blockOf(n)
	switch {
	case n.origin == originDotted && n.homeBlock < 0:
		refuse(reasonDottedInline)
	case n.origin == originDotted:
		for _, entry := range slices.Backward(d.blocks[n.homeBlock].entries) {
			if i := slices.Index(entry.chain, n); i >= 0 {
				below(entry.start, entry.end, d.text[entry.start:entry.keys[i].end]+".")
				return
			}
		}
		refuse(reasonNotLocated)
	case b == nil: // Only tables inside it have headers: add one before them.
		i := slices.IndexFunc(d.blocks, func(b block) bool { return slices.Contains(b.chain, n) })
		if i < 0 {
			refuse(reasonNotLocated)
		}
		start := d.aboveHeader(&d.blocks[i])
		e.patch(start, start, "["+d.path(n)+"]"+p.nl+lines("", "")+p.nl+strings.Repeat(p.nl, d.blankLines()))
	case len(b.entries) > 0:
		last := b.entries[len(b.entries)-1]
		below(last.start, last.end, "")
	case b.keys != nil:
		below(b.start, b.end, "")
	case len(d.blocks) > 1:
		start := d.aboveHeader(&d.blocks[1])
		e.patch(start, start, lines("", "")+p.nl+p.nl)
	default: // The file contains only comments.
		e.append(p.nl, lines("", ""))
	}
}

// aboveHeader returns the start of the line of a header, or of the comments
// directly above it.
func (d *Document) aboveHeader(b *block) int {
	start := lineStart(d.text, b.start)
	for start > 0 {
		above := lineStart(d.text, prevLineEnd(d.text, start))
		if first := skipSpace(d.text, above); d.text[first] != '#' {
			break
		}
		start = above
	}
	return start
}

// insertParts writes tables after a block.
func (e *editor) insertParts(p *printer, b *block, parts []string) {
	d, text := e.d, e.d.text
	gap := p.nl + strings.Repeat(p.nl, d.blankLines())
	with := strings.Join(parts, gap)
	if b.keys != nil || len(b.entries) > 0 {
		end := d.withComments(d.contentEnd(b))
		e.patch(end, end, gap+with)
		return
	}
	// The file contains only comments.
	if lines := strings.ReplaceAll(text, "\r", ""); strings.TrimSpace(text) != "" && !strings.HasSuffix(lines, "\n\n") {
		with = p.nl + with
	}
	e.append(p.nl, with)
}

// tables renders a map as a table, followed by the tables inside it.
func (p *printer) tables(path string, m Map, model *node, item bool) []string {
	head := "[" + path + "]"
	if item {
		head = "[" + head + "]"
	}
	lines := []string{head}
	var inner []string
	for _, member := range m {
		child := model.model(member.Value, member.Name)
		inline := child != nil && (child.bracketed || child.origin == originDotted)
		if sub, isMap := member.Value.(Map); isMap && !inline {
			inner = append(inner, p.tables(path+"."+tomlKey(member.Name), sub, child, false)...)
		} else {
			lines = append(lines, tomlKey(member.Name)+p.style.colon+p.flow(member.Value, child, "", true))
		}
	}
	if len(lines) == 1 && len(inner) > 0 && !item {
		return inner
	}
	return append([]string{strings.Join(lines, p.nl)}, inner...)
}

// insertTables adds items to a list of tables.
func (e *editor) insertTables(at *place, index int, fresh Map) {
	n, p := at.node, e.printer(at.node)
	var parts []string
	for _, m := range fresh {
		item, isMap := m.Value.(Map)
		if !isMap {
			refuse("every item of this list must be a table")
		}
		parts = append(parts, p.tables(e.d.path(n), item, n.model(item, ""), true)...)
	}
	if index > 0 {
		e.insertParts(p, e.d.lastBlock(n.children[index-1].node), parts)
		return
	}
	start := lineStart(e.d.text, e.d.blockOf(n.children[0].node).start)
	gap := p.nl + strings.Repeat(p.nl, e.d.blankLines())
	e.patch(start, start, strings.Join(parts, gap)+gap)
}

// removeTables removes members or items of a table, wherever they are written.
func (e *editor) removeTables(n *node, gone []int) {
	d := e.d
	doomed := map[*node]bool{}
	for _, i := range gone {
		doomed[n.children[i].node] = true
	}
	isDoomed := func(chain []*node) bool {
		return slices.ContainsFunc(chain, func(step *node) bool { return doomed[step] })
	}
	found := 0
	for i := 0; i < len(d.blocks); i++ {
		b := &d.blocks[i]
		if isDoomed(b.chain) {
			// Remove adjacent blocks as one piece.
			end := d.contentEnd(b)
			for i+1 < len(d.blocks) && isDoomed(d.blocks[i+1].chain) && strings.TrimSpace(d.text[end:d.blocks[i+1].start]) == "" {
				i++
				end = d.contentEnd(&d.blocks[i])
			}
			e.removeLines(b.start, end, true)
			found++
			continue
		}
		left := len(b.entries)
		for _, entry := range b.entries {
			if isDoomed(entry.chain) {
				found, left = found+1, left-1
				end, _ := d.trimmedTail(entry.end)
				e.removeLines(entry.start, end, false)
			}
		}
		if left == 0 && len(b.entries) > 0 && b.keys == nil && len(d.blocks) > 1 {
			e.closeGap(b)
		}
	}
	if found == 0 {
		refuse("the value is inside an inline table")
	}
}

// removeLines removes whole lines; for a table, also the blank lines above.
func (e *editor) removeLines(from, end int, table bool) {
	text := e.d.text
	start := lineStart(text, from)
	for table && start > 0 {
		above := lineStart(text, prevLineEnd(text, start))
		if !endsLine(text, skipSpace(text, above)) {
			break
		}
		start = above
	}
	for next := nextLine(text, end); table && start == 0 && next < len(text) && endsLine(text, skipSpace(text, next)); {
		end, next = next, nextLine(text, next)
	}
	e.dropLines(start, end)
}

// closeGap removes the blank line after the last entry before the tables if no
// content is left above it.
func (e *editor) closeGap(b *block) {
	text := e.d.text
	start := lineStart(text, b.entries[0].start)
	end, _ := e.d.trimmedTail(b.entries[len(b.entries)-1].end)
	blank := nextLine(text, end)
	if blank >= len(text) || !endsLine(text, skipSpace(text, blank)) {
		return
	}
	if start == 0 {
		e.patch(blank, nextLine(text, blank), "")
		return
	}
	if above := lineStart(text, prevLineEnd(text, start)); endsLine(text, skipSpace(text, above)) {
		e.patch(end, prevLineEnd(text, nextLine(text, blank)), "")
	}
}
