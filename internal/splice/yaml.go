package splice

import "strings"

// yamlReader reads the YAML that settings are written in: block and flow
// collections, all five kinds of scalars, anchors, aliases, merge keys, tags.
// What it does not know (several documents, keys that are no texts) it refuses,
// rather than guess where something ends.
type yamlReader struct {
	text    string
	p       int
	anchors map[string]*node
	open    map[string]bool // anchors whose node is not finished yet
	line    int             // where the line of the last question began
	stop    int             // and where it ends
}

func readYAML(text string) *node {
	r := yamlReader{text: text, anchors: map[string]*node{}, open: map[string]bool{}}
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '\r')
		if next < 0 {
			break
		}
		if at += next; at+1 >= len(text) || text[at+1] != '\n' {
			panic(stopped{at, "a line ends with a carriage return alone", "save the file with usual line ends"})
		}
	}
	r.blank()
	for r.peek() == '%' && r.column() == 0 {
		r.p = nextLine(text, r.p)
		r.blank()
	}
	if r.marker("---") {
		r.p += 3
		r.space()
	}
	if r.atLineEnd() {
		r.blank()
	}
	n := r.node(-1, -1, 0, false)
	if n.absent {
		n.kind, n.end, n.start = MapKind, r.p, r.p
	}
	r.blank()
	if r.marker("...") {
		r.p += 3
		r.blank()
	}
	if r.p < len(text) {
		if r.marker("---") {
			r.fail("there are several documents in this file", "edit it by hand")
		}
		r.fail("this does not belong to what stands before it", "look at the white space at the start of the line")
	}
	return n
}

func (r *yamlReader) fail(what, hint string) { panic(stopped{r.p, what, hint}) }

func (r *yamlReader) peek() byte { return r.at(r.p) }

func (r *yamlReader) at(p int) byte {
	if p < len(r.text) {
		return r.text[p]
	}
	return 0
}

func (r *yamlReader) column() int {
	r.look()
	return r.p - r.line
}

// look finds the ends of the current line once, however often it is asked: a
// file may be one long line.
func (r *yamlReader) look() {
	if r.p < r.line || r.p > r.stop || r.stop == 0 {
		r.line, r.stop = lineStart(r.text, r.p), lineEnd(r.text, r.p)
	}
}

func (r *yamlReader) lineStart() int {
	r.look()
	return r.line
}

func (r *yamlReader) lineEnd() int {
	r.look()
	return r.stop
}

func (r *yamlReader) space() { r.p = skipSpace(r.text, r.p) }

func (r *yamlReader) atLineEnd() bool {
	return endsLine(r.text, r.p) || r.peek() == '#' && (r.p == 0 || isBlank(r.text[r.p-1]))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (r *yamlReader) blankAt(p int) bool { return p >= len(r.text) || isBlank(r.text[p]) }

// blank goes on to the next thing that is neither white space nor comment.
func (r *yamlReader) blank() {
	for {
		r.space()
		if r.p >= len(r.text) || !r.atLineEnd() {
			return
		}
		r.p = nextLine(r.text, r.p)
	}
}

// noTab: a tab cannot indent, and programs differ in how they complain.
func (r *yamlReader) noTab() {
	start := r.lineStart()
	if tab := strings.IndexByte(r.text[start:r.p], '\t'); tab >= 0 && strings.Trim(r.text[start:start+tab], " ") == "" {
		r.p = start + tab
		r.fail("a tab is used to indent", "use spaces")
	}
}

func (r *yamlReader) marker(m string) bool {
	return r.column() == 0 && strings.HasPrefix(r.text[r.p:], m) && r.blankAt(r.p+3)
}

// node reads the value that begins behind a colon or a dash, or the document.
// Its lines are indented by more than parent; as a value of a key, a list may
// stand at the key's own column, list. compact says that a map or list may
// begin on this line.
func (r *yamlReader) node(parent, list, depth int, compact bool) *node {
	if depth > maxDepth {
		r.fail("values are nested more than 200 deep", "")
	}
	behind := r.p
	sameLine := parent >= 0
	n := &node{}
	r.space()
	props := -1
	for {
		if r.atLineEnd() {
			r.blank()
			sameLine = false
			if c := r.column(); r.p >= len(r.text) || r.marker("---") || r.marker("...") || c <= parent && !(c == list && r.dash()) {
				n.absent, n.start, n.end, n.props = true, behind, behind, int32(behind)
				if props >= 0 {
					// An anchor or a tag with nothing behind it.
					n.start, n.end, n.props = r.lastContent(), r.lastContent(), int32(props)
				}
				return r.finish(n)
			}
			r.noTab()
		}
		c := r.peek()
		if c != '&' && c != '!' {
			break
		}
		if !sameLine || compact || parent < 0 {
			// An anchor before a key on the same line is the key's own, which
			// we do not take.
			if r.keyAhead() {
				r.fail("a name has an anchor or a tag", "edit this file by hand")
			}
		}
		if props < 0 {
			props = r.p
		}
		from := r.p
		for r.p < len(r.text) && !isBlank(r.text[r.p]) {
			r.p++
		}
		if word := r.text[from:r.p]; c == '&' {
			if n.anchor != "" || len(word) == 1 || strings.ContainsAny(word, "[]{},") {
				r.fail("this anchor is not understood", "edit this file by hand")
			}
			n.anchor = word[1:]
			r.open[n.anchor] = true
		} else {
			n.tagged = true
		}
		r.space()
	}
	n.start = r.p
	if n.props = int32(r.p); props >= 0 {
		n.props = int32(props)
	}
	blockHere := !sameLine || compact && props < 0
	switch c := r.peek(); {
	case c == '-' && r.blankAt(r.p+1):
		if !blockHere {
			r.fail("a list cannot begin on this line", "begin it on the next one")
		}
		r.list(n, depth)
	case c == '?' && r.blankAt(r.p+1):
		r.fail("names that are no plain texts are not understood", "edit this file by hand")
	case r.keyAhead():
		if !blockHere {
			r.fail("a second colon makes this line unclear", "put the value in quotes")
		}
		r.mapping(n, depth)
	case c == '[' || c == '{':
		r.flow(n, depth, parent)
	case c == '*':
		r.alias(n)
	case c == '"' || c == '\'':
		r.quotedScalar(n, parent)
	case c == '|' || c == '>':
		r.blockScalar(n, parent)
	default:
		r.plain(n, parent, false)
	}
	return r.finish(n)
}

func (r *yamlReader) dash() bool { return r.peek() == '-' && r.blankAt(r.p+1) }

// lastContent is the end of the last thing before p that is neither white
// space nor a comment on lines of its own.
func (r *yamlReader) lastContent() int {
	at := r.p
	for at > 0 {
		start := lineStart(r.text, at)
		line := strings.TrimLeft(r.text[start:at], " \t")
		if line != "" && line[0] != '#' && strings.Trim(line, " \t\r\n") != "" {
			if cut := strings.Index(line, " #"); cut >= 0 {
				line = line[:cut]
			}
			return at - len(strings.TrimLeft(r.text[start:at], " \t")) + len(strings.TrimRight(line, " \t\r\n"))
		}
		at = before(r.text, start)
		if start == 0 {
			break
		}
	}
	return 0
}

func (r *yamlReader) finish(n *node) *node {
	n.expanded, n.depth = 1, 1
	for _, c := range n.children {
		n.expanded += c.node.expanded
		n.depth = max(n.depth, 1+c.node.depth)
	}
	if n.target != nil {
		n.expanded, n.depth = n.target.expanded, n.target.depth
	}
	if n.depth > maxDepth || n.expanded > 1<<20 {
		r.fail("written out, the aliases of this file are too much", "")
	}
	if n.anchor != "" {
		delete(r.open, n.anchor)
		r.anchors[n.anchor] = n
	}
	return n
}

// keyAhead: is there "name:" at p, on this line?
func (r *yamlReader) keyAhead() bool {
	p, end := r.p, r.lineEnd()
	for p < end && (r.text[p] == '&' || r.text[p] == '!') {
		for p < end && !isBlank(r.text[p]) {
			p++
		}
		p = skipSpace(r.text, p)
	}
	if p >= end {
		return false
	}
	switch c := r.text[p]; c {
	case '"', '\'':
		q := closingQuote(r.text[:end], p)
		if q < 0 {
			return false
		}
		q = skipSpace(r.text, q)
		return r.at(q) == ':' && r.blankAt(q+1)
	case '[', '{', '#', '|', '>', '@', '`', '%', ',', ']', '}':
		return false
	}
	for ; p < end; p++ {
		if r.text[p] == ':' && r.blankAt(p+1) {
			return true
		}
		if r.text[p] == '#' && p > r.p && isBlank(r.text[p-1]) {
			return false
		}
	}
	return false
}

// closingQuote is behind the quote that closes the one at p, or -1.
func closingQuote(text string, p int) int {
	quote := text[p]
	for p++; p < len(text); p++ {
		switch {
		case quote == '"' && text[p] == '\\':
			p++
		case text[p] == quote && quote == '\'' && p+1 < len(text) && text[p+1] == quote:
			p++
		case text[p] == quote:
			return p + 1
		}
	}
	return -1
}

func (r *yamlReader) list(n *node, depth int) {
	n.kind = ListKind
	column := r.column()
	for {
		c := child{start: r.p, after: r.p + 1}
		r.p++
		c.node = r.node(column, -1, depth+1, true)
		n.children = append(n.children, c)
		n.end = max(c.after, c.node.end)
		r.endOfLine()
		if r.p >= len(r.text) || r.column() < column || r.column() == column && !r.dash() || r.marker("...") || r.marker("---") {
			return
		}
		if r.column() > column {
			r.fail("this line is indented too much", "align it with the entries above")
		}
		r.noTab()
	}
}

// endOfLine: behind a value only a comment may follow on its line.
func (r *yamlReader) endOfLine() {
	if strings.Trim(r.text[r.lineStart():r.p], " ") != "" {
		r.space()
		if !r.atLineEnd() {
			r.fail("there is more behind the value on this line", "put the value in quotes")
		}
	}
	r.blank()
}

func (r *yamlReader) mapping(n *node, depth int) {
	n.kind = MapKind
	column := r.column()
	seen := map[string]bool{}
	for {
		if c := r.peek(); c == '&' || c == '!' || c == '*' || c == '?' && r.blankAt(r.p+1) {
			r.fail("names that are no plain texts are not understood", "edit this file by hand")
		}
		if !r.keyAhead() {
			r.fail("a name and a colon should be here", "write name: value")
		}
		c := r.key(false)
		if seen[c.name] {
			r.p = c.start
			r.fail("the name "+quoted(c.name)+" is there already", "remove one of the two, or rename it")
		}
		seen[c.name] = true
		c.node = r.node(column, column, depth+1, false)
		n.children = append(n.children, c)
		n.end = max(c.after, c.node.end)
		r.endOfLine()
		if r.p >= len(r.text) || r.column() < column || r.marker("...") || r.marker("---") {
			return
		}
		if r.column() > column {
			r.fail("this line is indented too much", "align it with the names above")
		}
		r.noTab()
		if r.dash() {
			r.fail("a list begins among names", "indent it more, or less")
		}
	}
}

// key reads a name and its colon.
func (r *yamlReader) key(flow bool) child {
	c := child{start: r.p}
	if q := r.peek(); q == '"' || q == '\'' {
		k := &node{start: r.p}
		r.quotedScalar(k, -1)
		c.name, c.keyEnd = k.text, r.p
		if strings.Contains(r.text[c.start:c.keyEnd], "\n") {
			r.fail("a name has more than one line", "edit this file by hand")
		}
		r.space()
	} else {
		end := r.lineEnd()
		for r.p < end && !(r.text[r.p] == ':' && (r.blankAt(r.p+1) || flow && strings.IndexByte(",[]{}", r.text[r.p+1]) >= 0)) {
			if flow && strings.IndexByte(",[]{}", r.text[r.p]) >= 0 || r.text[r.p] == '#' && isBlank(r.text[max(r.p-1, 0)]) {
				r.fail("a colon should be behind a name", "write name: value")
			}
			r.p++
		}
		c.keyEnd = c.start + len(strings.TrimRight(r.text[c.start:r.p], " \t"))
		c.name = r.text[c.start:c.keyEnd]
		if c.name == "" || strings.IndexByte("&*!|>%@`#", c.name[0]) >= 0 || strings.IndexByte("?-", c.name[0]) >= 0 && (len(c.name) == 1 || isBlank(c.name[1])) {
			r.p = c.start
			r.fail("this name is not understood", "put it in quotes")
		}
	}
	if r.peek() != ':' {
		r.fail("a colon should be behind a name", "write name: value")
	}
	r.p++
	c.after = r.p
	return c
}

func (r *yamlReader) alias(n *node) {
	from := r.p
	for r.p < len(r.text) && !isBlank(r.text[r.p]) && strings.IndexByte(",[]{}", r.text[r.p]) < 0 {
		r.p++
	}
	n.end = r.p
	name := r.text[from+1 : r.p]
	n.target = r.anchors[name]
	if n.target == nil || r.open[name] || n.anchor != "" || n.tagged {
		r.p = from
		r.fail("there is no anchor &"+name+" before this", "")
	}
	n.target.aliased = true
	n.target = n.target.resolve()
	n.target.aliased = true
	n.kind = n.target.kind
}

// flow reads [ ] and { }. Its lines must be indented by more than parent.
func (r *yamlReader) flow(n *node, depth, parent int) {
	if depth > maxDepth {
		r.fail("values are nested more than 200 deep", "")
	}
	n.bracketed, n.kind = true, ListKind
	closing := byte(']')
	if r.peek() == '{' {
		n.kind, closing = MapKind, '}'
	}
	open := r.p
	r.p++
	seen := map[string]bool{}
	skip := func() {
		line := r.lineStart()
		r.blank()
		if r.p >= len(r.text) {
			r.p = open
			r.fail("this bracket is not closed", "put "+string(closing)+" at its end")
		}
		if r.lineStart() != line {
			if r.column() <= parent && r.peek() != closing || r.marker("---") || r.marker("...") {
				r.fail("this line is not indented enough", "a bracket above may not be closed")
			}
			r.noTab()
		}
	}
	for {
		skip()
		if r.peek() == closing {
			break
		}
		c := child{start: r.p}
		if n.kind == MapKind {
			if r.peek() == '?' && r.blankAt(r.p+1) || strings.IndexByte("&*![{", r.peek()) >= 0 {
				r.fail("names that are no plain texts are not understood", "edit this file by hand")
			}
			c = r.flowKey()
			if seen[c.name] {
				r.p = c.start
				r.fail("the name "+quoted(c.name)+" is there already", "remove one of the two, or rename it")
			}
			seen[c.name] = true
			behind := r.p
			skip()
			if r.peek() == ',' || r.peek() == closing {
				c.node = r.finish(&node{absent: true, start: behind, end: behind, props: int32(behind)})
				r.p = behind
			}
		}
		if c.node == nil {
			c.node = r.flowNode(depth+1, parent)
		}
		n.children = append(n.children, c)
		skip()
		if r.peek() == closing {
			break
		}
		if r.peek() != ',' {
			r.fail("a comma or "+string(closing)+" should be here", "")
		}
		r.p++
	}
	r.p++
	n.end = r.p
}

// flowKey takes "name":value, too, as JSON has it.
func (r *yamlReader) flowKey() child { return r.key(true) }

func (r *yamlReader) flowNode(depth, parent int) *node {
	n := &node{start: r.p, props: int32(r.p)}
	for r.peek() == '&' || r.peek() == '!' {
		c, from := r.peek(), r.p
		for r.p < len(r.text) && !isBlank(r.text[r.p]) && strings.IndexByte(",[]{}", r.text[r.p]) < 0 {
			r.p++
		}
		if c == '&' {
			if n.anchor = r.text[from+1 : r.p]; n.anchor == "" {
				r.fail("this anchor is not understood", "edit this file by hand")
			}
			r.open[n.anchor] = true
		} else {
			n.tagged = true
		}
		r.space()
		n.start = r.p
	}
	switch c := r.peek(); {
	case c == '[' || c == '{':
		r.flow(n, depth, parent)
	case c == '*':
		r.alias(n)
	case c == '"' || c == '\'':
		r.quotedScalar(n, parent)
	default:
		r.plain(n, parent, true)
	}
	if next := skipSpace(r.text, r.p); r.at(next) == ':' {
		r.fail("a pair without braces in a list is not understood", "put it in { }")
	}
	return r.finish(n)
}
