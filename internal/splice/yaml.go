package splice

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

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

var (
	yamlNumber = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	yamlNull   = map[string]bool{"": true, "~": true, "null": true, "Null": true, "NULL": true}
	yamlTruth  = map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false}
)

func (n *node) resolvePlain(text string) {
	truth, isTruth := yamlTruth[text]
	switch {
	case n.tagged:
		n.kind, n.text = StringKind, text
	case yamlNull[text]:
		n.kind = NullKind
	case isTruth:
		n.kind, n.truth = BoolKind, truth
	case (text[0] <= '9' || text[0] == '.') && yamlNumber.MatchString(text):
		n.kind, n.text = NumberKind, text
	default:
		n.kind, n.text = StringKind, text
	}
}

// plain reads a scalar without quotes, which may go on over several lines.
func (r *yamlReader) plain(n *node, parent int, flow bool) {
	c := r.peek()
	if c == 0 && r.p >= len(r.text) || strings.IndexByte(",[]{}#&*!|>'\"%@`", c) >= 0 ||
		strings.IndexByte("-?:", c) >= 0 && (r.blankAt(r.p+1) || flow && strings.IndexByte(",[]{}", r.at(r.p+1)) >= 0) {
		r.fail("a value cannot begin like this", "put it in quotes")
	}
	var lines []string
	for {
		from, end := r.p, r.lineEnd()
		for r.p < end {
			c := r.text[r.p]
			if c == '#' && r.p > from && isBlank(r.text[r.p-1]) || flow && strings.IndexByte(",[]{}", c) >= 0 {
				break
			}
			if c == ':' && (r.blankAt(r.p+1) || flow && strings.IndexByte(",[]{}", r.text[r.p+1]) >= 0) {
				if flow && len(lines) == 0 {
					break
				}
				r.fail("a second colon makes this line unclear", "put the value in quotes")
			}
			r.p++
		}
		line := strings.TrimRight(r.text[from:r.p], " \t")
		n.end = from + len(line)
		lines = append(lines, line)
		if r.p < end || r.p >= len(r.text) {
			r.p = n.end
			break
		}
		// Does it go on? Empty lines count; a comment ends it.
		blank, next := 0, nextLine(r.text, r.p)
		for next < len(r.text) && endsLine(r.text, skipSpace(r.text, next)) {
			if nextLine(r.text, next) == next || nextLine(r.text, next) >= len(r.text) {
				next = len(r.text)
				break
			}
			next = nextLine(r.text, next)
			blank++
		}
		start := skipSpace(r.text, next)
		back := r.p
		r.p = start
		stop := start >= len(r.text) || r.text[start] == '#' || start-next <= parent || r.marker("---") || r.marker("...") ||
			flow && strings.IndexByte(",[]{}", r.text[start]) >= 0 || parent < 0 && r.keyAheadPlain(flow)
		if stop {
			r.p = back
			if n.end < r.p {
				r.p = n.end
			}
			break
		}
		for range blank {
			lines = append(lines, "")
		}
	}
	n.resolvePlain(fold(lines))
	if len(lines) > 1 {
		n.style = '+'
	}
}

// keyAheadPlain: at the top of a file a plain value could swallow the names
// below it, which no reader means.
func (r *yamlReader) keyAheadPlain(flow bool) bool { return !flow && r.keyAhead() }

// fold joins lines: one line end is a space, more are one less.
func fold(lines []string) string {
	var out strings.Builder
	empty := 0
	for i, line := range lines {
		if line == "" && i > 0 && i < len(lines)-1 {
			empty++
			continue
		}
		if i > 0 {
			if empty > 0 {
				out.WriteString(strings.Repeat("\n", empty))
			} else {
				out.WriteByte(' ')
			}
			empty = 0
		}
		out.WriteString(line)
	}
	return out.String()
}

func (r *yamlReader) quotedScalar(n *node, parent int) {
	n.kind, n.style = StringKind, r.peek()
	end := closingQuote(r.text, r.p)
	if end < 0 {
		r.fail("this text is not closed", "put "+string(n.style)+" at its end")
	}
	inner := r.text[r.p+1 : end-1]
	if strings.Contains(inner, "\n") {
		lines := strings.Split(strings.ReplaceAll(inner, "\r\n", "\n"), "\n")
		for i, line := range lines {
			trimmed := strings.TrimLeft(line, " \t")
			if i > 0 {
				if trimmed != "" && (len(line)-len(trimmed) <= parent || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")) {
					r.fail("a line of this text is not indented enough", "indent it, or close the text")
				}
				line = trimmed
			}
			if i < len(lines)-1 {
				if n.style == '"' && oddBackslashes(line) {
					r.fail("a text that continues behind a backslash is not understood", "edit this file by hand")
				}
				line = strings.TrimRight(line, " \t")
			}
			lines[i] = line
		}
		inner = fold(lines)
	}
	if n.style == '\'' {
		n.text = strings.ReplaceAll(inner, "''", "'")
	} else {
		n.text = r.unescape(inner)
	}
	n.end, r.p = end, end
}

func oddBackslashes(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func (r *yamlReader) unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	const plain, meant = "0abtnvfre \"/\\\t", "\x00\a\b\t\n\v\f\r\x1b \"/\\\t"
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		if i >= len(s) {
			r.fail("a backslash in this text is not understood", `write \\, or use single quotes`)
		}
		if at := strings.IndexByte(plain, s[i]); at >= 0 {
			out = append(out, meant[at])
			continue
		}
		switch s[i] {
		case 'N':
			out = append(out, "\u0085"...)
			continue
		case '_':
			out = append(out, "\u00a0"...)
			continue
		case 'L':
			out = append(out, "\u2028"...)
			continue
		case 'P':
			out = append(out, "\u2029"...)
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if digits == 0 || i+digits >= len(s) {
			r.fail("a backslash in this text is not understood", `write \\, or use single quotes`)
		}
		var v rune
		for _, h := range []byte(s[i+1 : i+1+digits]) {
			at := strings.IndexByte("0123456789abcdef", h|0x20)
			if h >= '0' && h <= '9' {
				at = int(h - '0')
			}
			if at < 0 || h < '0' || v > 0x10FFFF {
				r.fail("a backslash in this text is not understood", `write \\, or use single quotes`)
			}
			v = v<<4 | rune(at)
		}
		if !utf8.ValidRune(v) {
			r.fail("this is no character", "")
		}
		out = utf8.AppendRune(out, v)
		i += digits
	}
	return string(out)
}

// blockScalar reads | and >, whose text is the lines below that are indented
// by more than parent.
func (r *yamlReader) blockScalar(n *node, parent int) {
	n.kind, n.style = StringKind, r.peek()
	r.p++
	chomp, indent := byte(0), 0
	for r.p < len(r.text) && !isBlank(r.text[r.p]) {
		switch c := r.text[r.p]; {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		case c >= '1' && c <= '9' && indent == 0:
			indent = max(parent, 0) + int(c-'0')
		default:
			r.fail("this block of text is not understood", "write | or > alone")
		}
		r.p++
	}
	head := r.p
	r.space()
	if !r.atLineEnd() {
		r.fail("the text of a block begins on the next line", "")
	}
	var lines []string
	n.end = head
	at := nextLine(r.text, r.p)
	if lineEnd(r.text, r.p) == len(r.text) {
		at = len(r.text)
	}
	end := at
	for at < len(r.text) {
		stop := lineEnd(r.text, at)
		line := r.text[at:stop]
		content := strings.TrimLeft(line, " ")
		column := len(line) - len(content)
		if content == "" {
			if indent == 0 || column <= indent {
				line = ""
			} else {
				line = line[indent:]
			}
		} else {
			if indent == 0 {
				if column <= parent {
					break
				}
				indent = column
				for _, l := range lines {
					if l != "" {
						r.fail("this block of text is not understood", "")
					}
				}
			}
			if column < indent {
				break
			}
			if parent < 0 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")) {
				break
			}
			line = line[indent:]
		}
		lines = append(lines, line)
		if content != "" || chomp == '+' {
			n.end = stop
		}
		end = at
		if nextLine(r.text, at) == stop {
			end, at = len(r.text), len(r.text)
			break
		}
		at = nextLine(r.text, at)
		end = at
	}
	r.p = end
	if n.end <= head {
		r.p = n.end
	}
	lastHasEnd := n.end < len(r.text)
	trailing := 0
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		trailing++
		lines = lines[:len(lines)-1]
	}
	if n.style == '>' {
		n.text = foldBlock(lines)
	} else {
		n.text = strings.Join(lines, "\n")
	}
	switch {
	case chomp == '+':
		if len(lines) > 0 && (lastHasEnd || trailing > 0) {
			n.text += "\n"
		}
		n.text += strings.Repeat("\n", trailing)
	case chomp == 0 && len(lines) > 0 && lastHasEnd:
		n.text += "\n"
	}
}

// foldBlock folds as > does: lines that begin with white space stay as they are.
func foldBlock(lines []string) string {
	var out strings.Builder
	empty := 0
	for i, line := range lines {
		if i == 0 {
			out.WriteString(line)
			continue
		}
		if line == "" {
			empty++
			continue
		}
		before := lines[i-1-empty]
		own := isBlank(line[0]) || before != "" && isBlank(before[0])
		switch {
		case before == "" || own:
			out.WriteString(strings.Repeat("\n", empty+1))
		case empty > 0:
			out.WriteString(strings.Repeat("\n", empty))
		default:
			out.WriteByte(' ')
		}
		empty = 0
		out.WriteString(line)
	}
	return out.String()
}
