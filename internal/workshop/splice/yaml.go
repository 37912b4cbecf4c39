package splice

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// yamlReader turns the nodes of the YAML library, which have the line and the column at which they
// begin, into nodes with ranges. It rejects what an edit could not keep apart (several documents,
// keys that are not strings) rather than guess where something ends.
type yamlReader struct {
	scanner
	read   map[*yaml.Node]*node // nodes with an anchor
	line   int                  // of p, as the library counts
	column int
}

const (
	byHand         = "edit this file by hand"
	maxExpanded    = 1 << 20
	unclearBreaks  = "\u0085\u2028\u2029"
	flowIndicators = ",[]{}"
)

func readYAML(text string) *node {
	r := yamlReader{scanner: scanner{text: text}, read: map[*yaml.Node]*node{}, line: 1, column: 1}
	if at := strings.IndexAny(text, unclearBreaks); at >= 0 {
		r.failAt(at, "YAML parsers disagree on whether this character ends a line", "use an escape sequence in double quotes")
	}
	if at := strings.IndexByte(strings.ReplaceAll(text, "\r\n", "\n\n"), '\r'); at >= 0 {
		r.failAt(at, "a line ends with only a carriage return", "save the file with LF or CRLF line endings")
	}
	loader, err := yaml.NewLoader(strings.NewReader(olderVersion.ReplaceAllString(text, "${1}1")))
	r.failOn(err)
	var document, second yaml.Node
	if err := loader.Load(&document); err != io.EOF {
		r.failOn(err)
	}
	n := &node{absent: true, start: len(text), end: len(text), props: int32(len(text))}
	if len(document.Content) > 0 {
		n = r.value(document.Content[0], 0, -1, 0)
		if err := loader.Load(&second); err != io.EOF {
			r.failOn(err)
			r.failAt(max(0, n.end+1+strings.Index(text[n.end:], "\n---")), "the file contains several documents", "edit it by hand")
		}
	}
	if n.absent {
		n.kind = MapKind
	}
	return n
}

// olderVersion finds a directive %YAML 1.2, which the library refuses although it reads such files.
var olderVersion = regex.New(`^((?:[ \t]*(?:[#%].*)?\r?\n)*%YAML[ \t]+1\.)2\b`)

// yamlFaults are what the library's messages mean, and how to fix it.
var yamlFaults = []fault{
	{"tab character", "the line is indented with a tab", "use spaces"},
	{"cannot start any token", "a value cannot start with this character", "put it in quotes"},
	{"mapping values are not allowed", "a second colon makes this line ambiguous", "put the value in quotes"},
	{"expected ',' or", "this bracket is not closed", "add the missing ] or } at its end"},
	{"unexpected end of stream", "this string is not closed", "add the missing quote at its end"},
	{"unexpected document indicator", "this string is not closed", "add the missing quote at its end"},
	{"unknown anchor", "an anchor is not defined above this alias", ""},
	{"unknown escape", "this string contains an invalid escape", `use \\ or single quotes`},
	{"sequence entries are not allowed", "a list cannot start on this line", "start it on the next line"},
	{"could not find expected ':'", "a key and a colon are expected here", "use key: value"},
	{"did not find expected", "unexpected content: this does not belong to the block above it",
		"check its indentation, or put the value in quotes"},
}

// failOn reports an error of the library, where it begins.
func (r *yamlReader) failOn(err error) {
	if err == nil {
		return
	}
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		r.failAt(0, err.Error(), "")
	}
	mark, what, hint := e.Mark, e.Message, ""
	for _, fault := range yamlFaults {
		if strings.Contains(e.Message, fault.message) {
			what, hint = fault.what, fault.hint
			break
		}
	}
	if strings.Contains(what, "not closed") || strings.HasPrefix(what, "a key and") {
		mark = e.ContextMark
	}
	r.p, r.line, r.column = 0, 1, 1
	at := r.offset(mark.Line, mark.Column)
	switch quote := unclosedQuote(r.text[:at]); {
	case quote >= 0:
		at, what, hint = quote, "this string is not closed", "add the missing quote at its end"
	case r.at(at) == '\t' && strings.Contains(e.Message, "cannot start any token"):
		what, hint = "the line is indented with a tab", "use spaces"
	case strings.Contains(e.Message, "expected node content") && strings.TrimSpace(r.text[at:]) == "":
		at, what, hint = max(0, strings.LastIndexAny(r.text, "[{")), "this bracket is not closed", "add the missing ] or } at its end"
	case strings.Contains(e.Message, "unknown anchor"):
		what = "the anchor &" + strings.TrimPrefix(yamlToken(r.text, at), "*") + " is not defined above this alias"
	}
	r.failAt(at, what, hint)
}

var quotedValue = regex.New(`^ *(?:- +)*(?:[\w.-]+: +)?(["'])`)

// unclosedQuote returns the position of a string that its line does not close although the next line is
// not indented further, or -1. The library only notices the quote that begins the next string.
func unclosedQuote(text string) int {
	for line := 0; line < len(text); line = nextLine(text, line) {
		quoted := quotedValue.FindStringIndex(text[line:lineEnd(text, line)])
		next := nextLine(text, line)
		if quoted == nil || next == len(text) || closingQuote(text, line+quoted[1]-1) <= next {
			continue
		}
		if skipSpace(text, next)-next <= skipSpace(text, line)-line {
			return line + quoted[1] - 1
		}
	}
	return -1
}

// offset moves to a line and a column, which is never before the last one.
func (r *yamlReader) offset(line, column int) int {
	for ; r.line < line && r.p < len(r.text); r.line++ {
		r.p, r.column = nextLine(r.text, r.p), 1
	}
	for ; r.column < column && r.p < len(r.text); r.column++ {
		_, width := utf8.DecodeRuneInString(r.text[r.p:])
		r.p += width
	}
	return r.p
}

// yamlToken returns the anchor, tag or alias at a position.
func yamlToken(text string, at int) string {
	end := at
	verbatim := strings.HasPrefix(text[at:], "!<")
	for end < len(text) && !isBlank(text[end]) && (verbatim || strings.IndexByte(flowIndicators, text[end]) < 0) {
		end++
	}
	return text[at:end]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// trivia skips white space, newlines and comments.
func (r *yamlReader) trivia(at int) int { return skipTrivia(YAML, r.text, at) }

// must fails unless text is at a position, and returns the position after it.
func (r *yamlReader) must(at int, text, what string) int {
	if !strings.HasPrefix(r.text[min(at, len(r.text)):], text) {
		r.failAt(at, what, byHand)
	}
	return at + len(text)
}

// value reads a value after a colon, a comma or a dash, which ends at after. Its lines are indented by
// more than parent, the column of the block around it.
func (r *yamlReader) value(from *yaml.Node, after, parent, depth int) *node {
	r.failIfDeep(depth)
	n := &node{start: r.offset(from.Line, from.Column), anchor: from.Anchor, tagged: from.Style&yaml.TaggedStyle != 0}
	n.tagged = n.tagged || r.at(n.start) == '!' // the tag ! alone
	n.props = int32(n.start)
	plain := from.Kind == yaml.ScalarNode && from.Style&^yaml.TaggedStyle == 0
	n.absent = plain && from.Value == ""
	if n.anchor != "" || n.tagged {
		n.end = n.start
		for at := n.start; r.at(at) == '&' || r.at(at) == '!'; at = r.trivia(n.end) {
			n.end = at + len(yamlToken(r.text, at))
		}
		if n.start = n.end; !n.absent {
			n.start = r.trivia(n.end)
		}
	} else if n.absent {
		n.start, n.end, n.props = after, after, int32(after)
	}
	if !n.absent {
		r.content(n, from, parent, depth, plain)
	}
	return r.finish(n, from)
}

// content reads a value that is written.
func (r *yamlReader) content(n *node, from *yaml.Node, parent, depth int, plain bool) {
	switch {
	case from.Kind == yaml.AliasNode:
		n.end = n.start + len(yamlToken(r.text, n.start))
		if n.target = r.read[from.Alias]; n.target == nil {
			r.failAt(n.start, "the anchor &"+from.Value+" is not defined above this alias", "")
		}
		n.target.aliased = true
		n.target = n.target.resolve()
		n.target.aliased = true
		n.kind = n.target.kind
	case from.Kind == yaml.MappingNode:
		if n.kind = MapKind; from.Style&yaml.FlowStyle != 0 && r.at(n.start) != '{' {
			r.failAt(n.start, "a \"key: value\" pair without braces is not supported in a list", "put it in { }")
		}
		r.mapping(n, from.Content, depth)
	case from.Kind == yaml.SequenceNode:
		n.kind = ListKind
		r.list(n, from.Content, depth)
	case plain:
		n.resolvePlain(from.Value)
		n.end = r.plainEnd(n.start, from.Value)
		if strings.Contains(r.text[n.start:n.end], "\n") {
			n.style = '+'
		}
	default:
		n.kind, n.text, n.style = StringKind, from.Value, r.at(n.start)
		switch n.style {
		case '"', '\'':
			n.end = closingQuote(r.text, n.start)
		case '|', '>':
			n.end = blockEnd(r.text, n.start, parent, strings.Trim(n.text, "\n") == "")
		default:
			r.failAt(n.start, "this value cannot be located", byHand)
		}
	}
}

func (r *yamlReader) finish(n *node, from *yaml.Node) *node {
	n.expanded, n.depth = 1, 1
	for _, c := range n.children {
		n.expanded, n.depth = n.expanded+c.node.expanded, max(n.depth, 1+c.node.depth)
	}
	if n.target != nil {
		n.expanded, n.depth = n.target.expanded, n.target.depth
	}
	if n.depth > maxDepth || n.expanded > maxExpanded {
		r.failAt(n.start, "the aliases in this file expand to too many values", "")
	}
	if n.anchor != "" {
		r.read[from] = n
	}
	return n
}

// blockColumn returns the column of a map or a list without brackets.
func (r *yamlReader) blockColumn(n *node) int {
	if n.bracketed { // perhaps on a long line
		return 0
	}
	return column(r.text, n.start)
}

// next returns where the next entry of a map or a list begins, or its closing bracket.
func (r *yamlReader) next(n *node) int {
	if len(n.children) == 0 {
		return r.trivia(n.start + 1)
	}
	last := &n.children[len(n.children)-1]
	at := r.trivia(last.end())
	if n.bracketed && r.at(at) == ',' {
		at = r.trivia(at + 1)
	}
	return at
}

// close finds the end of a map or a list.
func (r *yamlReader) close(n *node, bracket string) {
	if n.bracketed {
		n.end = r.must(r.next(n), bracket, "this bracket cannot be located")
		return
	}
	last := &n.children[len(n.children)-1]
	n.end = last.end()
}

func (r *yamlReader) list(n *node, items []*yaml.Node, depth int) {
	n.bracketed = r.at(n.start) == '['
	column := r.blockColumn(n)
	for i, item := range items {
		c := child{start: n.start}
		if i > 0 {
			c.start = r.next(n)
		}
		if n.bracketed {
			c.node = r.value(item, 0, column, depth+1)
			c.start = int(c.node.props)
		} else {
			c.after = r.must(c.start, "-", "this item cannot be located")
			c.node = r.value(item, c.after, column, depth+1)
		}
		n.children = append(n.children, c)
	}
	r.close(n, "]")
}

func (r *yamlReader) mapping(n *node, content []*yaml.Node, depth int) {
	n.bracketed = r.at(n.start) == '{'
	column := r.blockColumn(n)
	seen := map[string]bool{}
	next := n.start
	for i := 0; i < len(content); i += 2 {
		key := content[i]
		c := child{name: key.Value, start: r.offset(key.Line, key.Column)}
		switch {
		case key.Kind != yaml.ScalarNode, key.Anchor != "", key.Style&yaml.TaggedStyle != 0, r.at(next) == '?' && next < c.start:
			r.failAt(next, "keys that are not plain strings are not supported", byHand)
		case seen[c.name]:
			r.failDuplicate(c.start, c.name)
		}
		seen[c.name] = true
		if first := r.at(c.start); first == '"' || first == '\'' {
			c.keyEnd = closingQuote(r.text, c.start)
		} else {
			c.keyEnd = r.must(c.start, key.Value, "this key cannot be located")
		}
		if c.keyEnd <= c.start {
			r.failAt(c.start, "this key is not valid", "put it in quotes")
		}
		c.after = r.must(r.trivia(c.keyEnd), ":", "a colon is missing after the key")
		c.node = r.value(content[i+1], c.after, column, depth+1)
		n.children = append(n.children, c)
		next = r.next(n)
	}
	r.close(n, "}")
}

// closingQuote returns the position after the quote that closes the one at p.
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
	return len(text)
}

// plainEnd returns the end of a scalar without quotes. Its value has a space or newlines where a line
// of the text ends.
func (r *yamlReader) plainEnd(at int, value string) int {
	for i := 0; i < len(value); {
		if end := skipSpace(r.text, at); (value[i] == ' ' || value[i] == '\n') && end < len(r.text) && endsLine(r.text, end) {
			at = skipWhite(r.text, end)
			for i++; i < len(value) && value[i-1] == '\n' && value[i] == '\n'; i++ {
			}
			continue
		}
		if r.at(at) != value[i] {
			r.failAt(at, "this value cannot be located", byHand)
		}
		at, i = at+1, i+1
	}
	return at
}

// blockEnd returns the end of the | or > scalar at a position: of its last line, with the blank lines
// after it only if they count.
func blockEnd(text string, at, parent int, empty bool) int {
	header := yamlToken(text, at)
	end := at + len(header)
	indent := -1 // not known yet
	if digit := strings.IndexAny(header, "123456789"); digit >= 0 {
		indent = max(parent, 0) + int(header[digit]-'0')
	}
	for line := nextLine(text, at); line < len(text); line = nextLine(text, line) {
		stop := lineEnd(text, line)
		content := line
		for content < stop && text[content] == ' ' {
			content++
		}
		column := content - line
		blank := content == stop
		if indent < 0 && !blank && column > parent && !empty {
			indent = column
		}
		switch {
		case !blank && (indent < 0 || column < indent):
			return end
		case !blank, column > indent && indent >= 0, strings.Contains(header, "+"):
			end = stop
		}
	}
	return end
}

var (
	yamlNumber = regex.New(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|` +
		`[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	yamlNull  = map[string]bool{"": true, "~": true, "null": true, "Null": true, "NULL": true}
	yamlTruth = map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false}
)

// resolvePlain decides what a scalar without quotes is, by YAML 1.2.
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
