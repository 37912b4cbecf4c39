package splice

import "strings"

// yamlReader reads the YAML that configuration files use: block and flow
// collections, all five kinds of scalars, anchors, aliases, merge keys, tags. It
// rejects the rest (several documents, keys that are not strings) rather than
// guess where something ends.
type yamlReader struct {
	scanner
	anchors map[string]*node
	open    map[string]bool // anchors whose node is still being read
	line    int             // start of the line found last
	stop    int             // and its end
}

func readYAML(text string) *node {
	r := yamlReader{scanner: scanner{text: text}, anchors: map[string]*node{}, open: map[string]bool{}}
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '\r')
		if next < 0 {
			break
		}
		if at += next; at+1 >= len(text) || text[at+1] != '\n' {
			panic(parseFailure{at, "a line ends with only a carriage return", "save the file with LF or CRLF line endings"})
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
	if r.keyAhead() || r.dash() {
		r.noTab()
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
			r.fail("the file contains several documents", "edit it by hand")
		}
		r.fail("unexpected content: this line does not belong to the block above it", "check its indentation")
	}
	return n
}

func (r *yamlReader) column() int {
	r.findLine()
	return r.p - r.line
}

// findLine finds the bounds of the current line once: a file may be one long line.
func (r *yamlReader) findLine() {
	if r.p < r.line || r.p > r.stop || r.stop == 0 {
		r.line, r.stop = lineStart(r.text, r.p), lineEnd(r.text, r.p)
	}
}

func (r *yamlReader) lineStart() int {
	r.findLine()
	return r.line
}

func (r *yamlReader) lineEnd() int {
	r.findLine()
	return r.stop
}

func (r *yamlReader) space() { r.p = skipSpace(r.text, r.p) }

func (r *yamlReader) atLineEnd() bool {
	return endsLine(r.text, r.p) || r.peek() == '#' && (r.p == 0 || isBlank(r.text[r.p-1]))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (r *yamlReader) blankAt(p int) bool { return p >= len(r.text) || isBlank(r.text[p]) }

// blank skips white space, newlines and comments.
func (r *yamlReader) blank() {
	for {
		r.space()
		if r.p >= len(r.text) || !r.atLineEnd() {
			return
		}
		r.p = nextLine(r.text, r.p)
	}
}

// flowIndicators end a token in flow style.
const flowIndicators = ",[]{}"

// token reads up to white space or one of the bytes in stop.
func (r *yamlReader) token(stop string) string {
	from := r.p
	for r.p < len(r.text) && !isBlank(r.text[r.p]) && strings.IndexByte(stop, r.text[r.p]) < 0 {
		r.p++
	}
	return r.text[from:r.p]
}

// noTab rejects tabs in the indentation of the current line.
func (r *yamlReader) noTab() {
	start := r.lineStart()
	if tab := strings.IndexByte(r.text[start:r.p], '\t'); tab >= 0 && strings.Trim(r.text[start:start+tab], " ") == "" {
		r.p = start + tab
		r.fail("the line is indented with a tab", "use spaces")
	}
}

func (r *yamlReader) marker(m string) bool {
	return r.column() == 0 && strings.HasPrefix(r.text[r.p:], m) && r.blankAt(r.p+3)
}

// node reads the value after a colon or a dash, or the document. Its lines are
// indented by more than parent, except that a list may be at column list, the
// column of its key. compact allows a map or list to begin on this line.
func (r *yamlReader) node(parent, list, depth int, compact bool) *node {
	r.failIfDeep(depth)
	after := r.p
	sameLine := parent >= 0
	n := &node{}
	r.space()
	props := -1
	for {
		if r.atLineEnd() {
			r.blank()
			sameLine = false
			if c := r.column(); r.p >= len(r.text) || r.marker("---") || r.marker("...") || c <= parent && !(c == list && r.dash()) {
				n.absent, n.start, n.end, n.props = true, after, after, int32(after)
				if props >= 0 {
					// An anchor or a tag without a value.
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
			// An anchor before a key on the same line belongs to the key, which
			// is not supported.
			if r.keyAhead() {
				r.fail("anchors and tags on keys are not supported", "edit this file by hand")
			}
		}
		if props < 0 {
			props = r.p
		}
		if word := r.token(""); c == '&' {
			if n.anchor != "" || len(word) == 1 || strings.ContainsAny(word, "[]{},") {
				r.fail("this anchor is not supported", "edit this file by hand")
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
			r.fail("a list cannot start on this line", "start it on the next line")
		}
		r.list(n, depth)
	case c == '?' && r.blankAt(r.p+1):
		r.fail("keys that are not plain strings are not supported", "edit this file by hand")
	case r.keyAhead():
		if !blockHere {
			r.fail("a second colon makes this line ambiguous", "put the value in quotes")
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

// lastContent returns the end of the last content before p, ignoring white space
// and comments.
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
		at = prevLineEnd(r.text, start)
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
		r.fail("the aliases of this file expand to too many values", "")
	}
	if n.anchor != "" {
		delete(r.open, n.anchor)
		r.anchors[n.anchor] = n
	}
	return n
}

// keyAhead reports whether "key:" follows on this line.
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

// closingQuote returns the position after the quote that closes the one at p, or
// -1.
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
			r.fail("this line is indented too far", "align it with the entries above")
		}
		r.noTab()
	}
}

// endOfLine rejects anything but a comment after a value on the same line.
func (r *yamlReader) endOfLine() {
	if strings.Trim(r.text[r.lineStart():r.p], " ") != "" {
		r.space()
		if !r.atLineEnd() {
			r.fail("unexpected content after the value on this line", "put the value in quotes")
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
			r.fail("keys that are not plain strings are not supported", "edit this file by hand")
		}
		if !r.keyAhead() {
			r.fail("a key and a colon are expected here", "write key: value")
		}
		c := r.key(false)
		if seen[c.name] {
			r.failDuplicate(c.start, c.name)
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
			r.fail("this line is indented too far", "align it with the keys above")
		}
		r.noTab()
		if r.dash() {
			r.fail("a list item is among the keys of a map", "change its indentation")
		}
	}
}

// key reads a key and its colon.
func (r *yamlReader) key(flow bool) child {
	c := child{start: r.p}
	if q := r.peek(); q == '"' || q == '\'' {
		k := &node{start: r.p}
		r.quotedScalar(k, -1)
		c.name, c.keyEnd = k.text, r.p
		if strings.Contains(r.text[c.start:c.keyEnd], "\n") {
			r.fail("keys that span several lines are not supported", "edit this file by hand")
		}
		r.space()
	} else {
		end := r.lineEnd()
		for r.p < end && !(r.text[r.p] == ':' && (r.blankAt(r.p+1) || flow && strings.IndexByte(flowIndicators, r.text[r.p+1]) >= 0)) {
			if flow && strings.IndexByte(flowIndicators, r.text[r.p]) >= 0 || r.text[r.p] == '#' && isBlank(r.text[max(r.p-1, 0)]) {
				r.fail("a colon is missing after the key", "write key: value")
			}
			r.p++
		}
		c.keyEnd = c.start + len(strings.TrimRight(r.text[c.start:r.p], " \t"))
		c.name = r.text[c.start:c.keyEnd]
		if c.name == "" || strings.IndexByte("&*!|>%@`#", c.name[0]) >= 0 || strings.IndexByte("?-", c.name[0]) >= 0 && (len(c.name) == 1 || isBlank(c.name[1])) {
			r.p = c.start
			r.fail("this key is not valid", "put it in quotes")
		}
	}
	if r.peek() != ':' {
		r.fail("a colon is missing after the key", "write key: value")
	}
	r.p++
	c.after = r.p
	return c
}

func (r *yamlReader) alias(n *node) {
	from := r.p
	name := r.token(flowIndicators)[1:]
	n.end = r.p
	n.target = r.anchors[name]
	if n.target == nil || r.open[name] || n.anchor != "" || n.tagged {
		r.p = from
		r.fail("the anchor &"+name+" is not defined above this alias", "")
	}
	n.target.aliased = true
	n.target = n.target.resolve()
	n.target.aliased = true
	n.kind = n.target.kind
}

// flow reads [ ] and { }. Its lines must be indented by more than parent.
func (r *yamlReader) flow(n *node, depth, parent int) {
	r.failIfDeep(depth)
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
			r.fail("this bracket is not closed", "add "+string(closing)+" at its end")
		}
		if r.lineStart() != line {
			if r.column() <= parent && r.peek() != closing || r.marker("---") || r.marker("...") {
				r.fail("this line is not indented far enough", "a bracket above may not be closed")
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
				r.fail("keys that are not plain strings are not supported", "edit this file by hand")
			}
			c = r.key(true)
			if seen[c.name] {
				r.failDuplicate(c.start, c.name)
			}
			seen[c.name] = true
			after := r.p
			skip()
			if r.peek() == ',' || r.peek() == closing {
				c.node = r.finish(&node{absent: true, start: after, end: after, props: int32(after)})
				r.p = after
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
			r.fail("a comma or "+string(closing)+" is expected here", "")
		}
		r.p++
	}
	r.p++
	n.end = r.p
}

func (r *yamlReader) flowNode(depth, parent int) *node {
	n := &node{start: r.p, props: int32(r.p)}
	for r.peek() == '&' || r.peek() == '!' {
		if word := r.token(flowIndicators); word[0] == '&' {
			if n.anchor = word[1:]; n.anchor == "" {
				r.fail("this anchor is not supported", "edit this file by hand")
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
		r.fail("a key: value pair without braces is not supported in a list", "put it in { }")
	}
	return r.finish(n)
}
