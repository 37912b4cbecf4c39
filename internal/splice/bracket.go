package splice

import "strings"

// Edits between brackets, which are the same in JSON, TOML and YAML: entries,
// commas, and comments around them. A new entry begins a line if its neighbour
// does.

// trivia skips white space and comments.
func (d *Document) trivia(at int) int {
	for {
		at = skipWhite(d.text, at)
		end := d.comment(at)
		if end == at {
			return at
		}
		at = end
	}
}

// comment returns the end of the comment that begins at a position, or the
// position if there is none.
func (d *Document) comment(at int) int {
	if at >= len(d.text) {
		return at
	}
	if d.format == TOML || d.format == YAML {
		if d.text[at] == '#' {
			return lineEnd(d.text, at)
		}
		return at
	}
	if d.text[at] == '/' && at+1 < len(d.text) && (d.text[at+1] == '/' || d.text[at+1] == '*') {
		if end := skipComment(d.text, at); end > 0 {
			return end
		}
	}
	return at
}

// tail returns the end of the line if only white space and comments follow;
// otherwise it returns at.
func (d *Document) tail(at int) (int, bool) {
	for p := at; ; {
		p = skipSpace(d.text, p)
		if endsLine(d.text, p) {
			return p, true
		}
		end := d.comment(p)
		if end == p || strings.Contains(d.text[p:end], "\n") {
			return at, false
		}
		p = end
	}
}

// trimmedTail is like tail, but excludes trailing white space.
func (d *Document) trimmedTail(at int) (int, bool) {
	end, clean := d.tail(at)
	if clean {
		for end > at && (d.text[end-1] == ' ' || d.text[end-1] == '\t') {
			end--
		}
	}
	return end, clean
}

// commaAfter returns the position of the comma after an entry, or -1.
func (d *Document) commaAfter(c *child) int {
	if at := d.trivia(c.node.end); at < len(d.text) && d.text[at] == ',' {
		return at
	}
	return -1
}

func (e *editor) insertBracketed(at *place, index int, fresh Map) string {
	n, text := at.node, e.d.text
	if e.d.format == TOML && n.kind == MapKind && len(n.children) > 0 && e.d.hasDottedKeys(n) {
		return reasonDottedInline
	}
	p := e.printer(n)
	if len(n.children) == 0 {
		return e.insertFirst(at, p, fresh)
	}
	beside := &n.children[min(index, len(n.children)-1)]
	indent, ownLine := margin(text, beside.start)
	multi := ownLine && (e.d.format != YAML)
	entries := p.entries(n, fresh, indent, multi)
	switch {
	case index < len(n.children) && ownLine:
		// Insert after the previous entry, so that a comment above beside stays
		// with it.
		from := n.start + 1
		if index > 0 {
			from = e.d.commaAfter(&n.children[index-1]) + 1
		}
		if end, clean := e.d.trimmedTail(from); clean {
			with := ""
			for _, entry := range entries {
				with += p.nl + indent + entry + ","
			}
			e.patch(end, end, with)
		} else {
			with := ""
			for _, entry := range entries {
				with += entry + "," + p.nl + indent
			}
			e.patch(beside.start, beside.start, with)
		}
	case index < len(n.children):
		with := ""
		for _, entry := range entries {
			with += entry + "," + p.style.gap
		}
		e.patch(beside.start, beside.start, with)
	case e.d.commaFirst(beside) && e.d.commaAfter(beside) < 0:
		lead := p.nl + text[lineStart(text, beside.start):beside.start]
		end, _ := e.d.trimmedTail(beside.node.end)
		e.patch(end, end, lead+strings.Join(entries, lead))
	default:
		lead := p.style.gap
		if ownLine {
			lead = p.nl + indent
		}
		comma := e.d.commaAfter(beside)
		from := beside.node.end
		if comma >= 0 {
			from = comma + 1
		} else {
			e.patch(from, from, ",")
		}
		if ownLine {
			from, _ = e.d.trimmedTail(from)
		}
		with := lead + strings.Join(entries, ","+lead)
		if comma >= 0 {
			with += ","
		}
		e.patch(from, from, with)
	}
	return ""
}

// reasonDottedInline is why inline tables with dotted keys are not edited.
const reasonDottedInline = "the value is in an inline table with dotted keys"

func (d *Document) hasDottedKeys(n *node) bool {
	for _, c := range n.children {
		if c.node.scattered {
			return true
		}
	}
	return false
}

// insertFirst adds entries to empty brackets.
func (e *editor) insertFirst(at *place, p *printer, fresh Map) string {
	n, text := at.node, e.d.text
	inner := text[n.start+1 : n.end-1]
	indent := indentOf(text, n.start)
	multi := strings.Contains(inner, "\n")
	if !multi && strings.TrimSpace(inner) != "" {
		end := n.start + 1 + len(strings.TrimRight(inner, " \t"))
		e.patch(end, end, " "+strings.Join(p.entries(n, fresh, indent, false), ","+p.style.gap))
		return ""
	}
	if !multi {
		var want any = fresh
		if n.kind == ListKind {
			want = values(fresh)
		}
		var model *node
		wide := e.d.format != YAML
		if at.parent != nil {
			model = at.parent.model(want, at.child().name)
			_, own := margin(text, at.child().start)
			wide = wide && own
		}
		if e.d.format == TOML {
			wide = wide && !p.inInline(at)
		}
		if strings.TrimSpace(inner) == "" && inner != "" && !wide {
			p.style.pad, p.style.listPad = inner, inner
		}
		e.patch(n.start, n.end, p.flow(want, model, indent, wide))
		return ""
	}
	entries := p.entries(n, fresh, indent+p.style.unit, e.d.format != YAML)
	with := p.nl + indent + p.style.unit + strings.Join(entries, ","+p.nl+indent+p.style.unit)
	from := n.start + 1
	if _, own := margin(text, n.end-1); own {
		from = prevLineEnd(text, lineStart(text, n.end-1))
	} else if end, clean := e.d.trimmedTail(from); clean {
		from = end
	}
	if from <= n.start {
		from = n.start + 1
	}
	e.patch(from, from, with)
	return ""
}

func (e *editor) removeBracketed(n *node, gone []int) string {
	d, text := e.d, e.d.text
	if d.format == TOML && n.kind == MapKind && d.hasDottedKeys(n) {
		return reasonDottedInline
	}
	isGone := map[int]bool{}
	for _, i := range gone {
		isGone[i] = true
	}
	if len(gone) == len(n.children) && !d.commented(n) {
		e.patch(n.start+1, n.end-1, "")
		return ""
	}
	stays := -1 // the last entry that stays
	for i := range n.children {
		if !isGone[i] {
			stays = i
		}
	}
	for _, i := range gone {
		c := &n.children[i]
		comma := d.commaAfter(c)
		end := c.node.end
		if comma >= 0 && strings.TrimSpace(text[end:comma]) == "" {
			end = comma + 1
		}
		_, ownLine := margin(text, c.start)
		lineEnd, clean := d.trimmedTail(end)
		if after, alone := d.trimmedTail(c.node.end); alone && d.commaFirst(c) {
			// Remove the comma before it. The one after it belongs to the next entry.
			e.patch(prevLineEnd(text, lineStart(text, c.start)), after, "")
			continue
		}
		if comma > end {
			e.patch(comma, comma+1, "")
		}
		switch {
		case ownLine && clean:
			start := lineStart(text, c.start)
			e.patch(prevLineEnd(text, start), lineEnd, "")
		case i < stays:
			if clean && lineEnd > end {
				e.patch(c.start, lineEnd, "")
			} else {
				e.patch(c.start, skipWhite(text, end), "")
			}
		default:
			start, from := c.start, n.start+1
			if i > 0 {
				from = n.children[i-1].node.end
			}
			commented := !d.blankOrComma(from, c.start) // a comment may need its newline
			for start > from && isBlank(text[start-1]) && !(commented && text[start-1] == '\n') {
				start--
			}
			e.patch(start, end, "")
		}
	}
	last := len(n.children) - 1
	if stays >= 0 && stays < last && d.commaAfter(&n.children[last]) < 0 {
		comma := d.commaAfter(&n.children[stays])
		e.patch(comma, comma+1, "")
	}
	return ""
}

// commaFirst reports whether the line of an entry begins with a comma.
func (d *Document) commaFirst(c *child) bool {
	at := c.start
	for at > 0 && (d.text[at-1] == ' ' || d.text[at-1] == '\t') {
		at--
	}
	if at == 0 || d.text[at-1] != ',' {
		return false
	}
	_, own := margin(d.text, at-1)
	return own
}

// blankOrComma reports whether there is at most a comma, and so no comment,
// between two positions.
func (d *Document) blankOrComma(from, to int) bool {
	between := strings.TrimSpace(d.text[from:to])
	return between == "" || between == ","
}

// commented reports whether there is a comment between the entries of n.
func (d *Document) commented(n *node) bool {
	at := n.start + 1
	for i := range n.children {
		if !d.blankOrComma(at, n.children[i].start) {
			return true
		}
		at = n.children[i].node.end
	}
	return !d.blankOrComma(at, n.end-1)
}
