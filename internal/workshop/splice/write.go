package splice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// fileStyle is how a file is formatted, sampled near the edit first.
type fileStyle struct {
	colon   string // between a key and its value: `: `, `:`, ` = `
	gap     string // after a comma on the same line
	pad     string // inside { }
	listPad string // inside [ ]
	unit    string // one step of indentation
	dashes  string // YAML: indentation of a list below its key
	quote   string // YAML: around keys in { }
	lists   string // of plain values: oneLine (or YAML flow style), or manyLines
}

const oneLine, manyLines = "one line", "many lines"

// printer writes new values.
type printer struct {
	format Format
	text   string
	nl     string
	style  fileStyle
	inside bool // YAML: inside brackets, where parsers differ about colons
}

// maxSamples limits how many entries are sampled for the style of a file.
const maxSamples = 1000

func (e *editor) printer(near *node) *printer {
	p := &printer{format: e.d.format, text: e.d.text, inside: near != nil && near.bracketed}
	s := sampler{Document: e.d, style: &p.style, seen: map[*string]bool{}}
	at := 0
	if near != nil {
		s.sample(near, new(int))
		if !near.absent {
			at = near.start
		}
	}
	s.sample(e.d.root, new(int))
	p.nl = newline(e.d.text, at)
	colon, pad := ": ", ""
	if e.d.format == TOML {
		colon, pad = " = ", " "
	}
	s.once(&p.style.colon, colon)
	s.once(&p.style.pad, pad)
	s.once(&p.style.unit, "  ")
	s.once(&p.style.dashes, p.style.unit)
	if p.style.colon != ":" {
		s.once(&p.style.gap, " ")
	}
	return p
}

// sampler notes the style of the first entries that show it.
type sampler struct {
	*Document
	style *fileStyle
	seen  map[*string]bool
}

func (s *sampler) once(field *string, value string) {
	if !s.seen[field] {
		*field, s.seen[field] = value, true
	}
}

// sample inspects a node and its descendants, of which it counts the number.
func (s *sampler) sample(n *node, count *int) {
	if n.bracketed && len(n.children) > 0 && !n.children[0].node.scattered {
		s.brackets(n)
	}
	if n.kind == ListKind && len(n.children) > 0 && len(n.children[0].node.children) == 0 {
		lists := oneLine
		if _, own := margin(s.text, n.children[0].start); !n.bracketed || own && s.format != YAML {
			lists = manyLines
		}
		s.once(&s.style.lists, lists)
	}
	for i := range n.children {
		if *count++; *count >= maxSamples {
			return
		}
		c := &n.children[i]
		if s.format == YAML && !n.bracketed && n.kind == MapKind && !c.node.bracketed && len(c.node.children) > 0 {
			step := column(s.text, c.node.children[0].start) - column(s.text, c.start)
			if c.node.kind == ListKind && step >= 0 {
				s.once(&s.style.dashes, strings.Repeat(" ", step))
			} else if step > 0 {
				s.once(&s.style.unit, strings.Repeat(" ", step))
			}
		}
		if s.format == TOML && n.scattered && !c.node.scattered {
			if between := s.text[c.keyEnd:c.node.start]; strings.Trim(between, " \t=") == "" && strings.Count(between, " ") <= 2 {
				s.once(&s.style.colon, between)
			}
		}
		s.sample(c.node, count)
	}
}

// brackets inspects what is between brackets.
func (s *sampler) brackets(n *node) {
	first := &n.children[0]
	inside := s.text[n.start+1 : first.start]
	if indent, own := margin(s.text, first.start); own && strings.Contains(inside, "\n") {
		if outer := indentOf(s.text, n.start); len(indent) > len(outer) && strings.HasPrefix(indent, outer) {
			s.once(&s.style.unit, indent[len(outer):])
		}
	} else if strings.Trim(inside, " ") == "" {
		pad := &s.style.pad
		if n.kind == ListKind {
			pad = &s.style.listPad
		}
		s.once(pad, inside)
	}
	if n.kind == MapKind {
		between := s.text[first.keyEnd:first.node.start]
		if strings.Trim(between, " :=") == "" && !first.node.absent && (s.format != YAML || strings.HasSuffix(between, " ")) {
			s.once(&s.style.colon, between)
		}
		quote := s.text[first.start : first.start+1]
		s.once(&s.style.quote, strings.Trim(quote, strings.Trim(quote, `"'`)))
	}
	if len(n.children) > 1 && s.commaAfter(first) == first.node.end {
		if between := s.text[first.node.end+1 : n.children[1].start]; strings.Trim(between, " ") == "" {
			s.once(&s.style.gap, between)
		}
	}
}

// model returns a child of n whose formatting a new value copies: the last one
// with the same key and kind, otherwise the last one of the same kind.
func (n *node) model(v any, name string) (similar *node) {
	if n == nil || n.target != nil {
		return nil
	}
	for _, c := range slices.Backward(n.children) {
		if c.node.kind != kindOf(v) || len(c.node.children) == 0 && isContainer(v) {
			continue
		}
		if c.name == name && name != "" {
			return c.node
		}
		if similar == nil {
			similar = c.node
		}
	}
	return similar
}

// entries renders members or items for brackets, without commas.
func (p *printer) entries(v any, model *node, indent string, multi bool) (entries []string) {
	switch v := v.(type) {
	case Map:
		for _, m := range v {
			entries = append(entries, p.key(m.Name)+p.style.colon+p.flow(m.Value, model.model(m.Value, m.Name), indent, multi))
		}
	case []any:
		for _, item := range v {
			entries = append(entries, p.flow(item, model.model(item, ""), indent, multi))
		}
	}
	return entries
}

// flow renders a value in brackets; multi allows several lines.
func (p *printer) flow(v any, model *node, indent string, multi bool) string {
	if !isContainer(v) {
		return p.scalar(v, model)
	}
	defer func(before bool) { p.inside = before }(p.inside)
	p.inside = true
	open, shut, pad := "[", "]", p.style.listPad
	if kindOf(v) == MapKind {
		open, shut, pad = "{", "}", p.style.pad
	}
	inner, wide := indent+p.style.unit, multi && p.wide(v, model)
	entries := p.entries(v, model, inner, wide)
	switch {
	case len(entries) == 0:
		return open + shut
	case wide:
		return open + p.nl + inner + strings.Join(entries, ","+p.nl+inner) + p.nl + indent + shut
	}
	return open + pad + strings.Join(entries, ","+p.style.gap) + pad + shut
}

// wide reports whether each entry gets a line.
func (p *printer) wide(v any, model *node) bool {
	if p.format == YAML || p.format == TOML && kindOf(v) == MapKind {
		return false
	}
	if model != nil && model.kind == kindOf(v) && model.bracketed && len(model.children) > 0 {
		_, own := margin(p.text, model.children[0].start)
		return own
	}
	if items, isList := v.([]any); isList {
		return p.format != TOML && slices.ContainsFunc(items, isContainer) || p.style.lists == manyLines
	}
	return true
}

// flowStyle reports whether a YAML value is written in brackets.
func (p *printer) flowStyle(v any, model *node) bool {
	if isEmpty(v) || !isContainer(v) {
		return true
	}
	if model != nil && model.kind == kindOf(v) && len(model.children) > 0 {
		return model.bracketed
	}
	items, isList := v.([]any)
	return isList && !slices.ContainsFunc(items, isContainer) && p.style.lists == oneLine
}

// blockOf renders a map or a list as lines with that indentation.
func (p *printer) blockOf(v any, indent string, model *node) string {
	var lines []string
	switch v := v.(type) {
	case Map:
		for _, m := range v {
			inner := indent + p.style.unit
			if kindOf(m.Value) == ListKind {
				inner = indent + p.style.dashes
			}
			lines = append(lines, p.keyLike(m.Name, 0)+":"+p.entry(m.Value, model.model(m.Value, m.Name), p.nl+inner, inner))
		}
	case []any:
		for _, item := range v {
			lines = append(lines, "-"+p.entry(item, model.model(item, ""), " ", indent+"  "))
		}
	}
	return strings.Join(lines, p.nl+indent)
}

// entry renders a value after a colon or a dash: on the same line, or as a block after gap.
func (p *printer) entry(v any, model *node, gap, indent string) string {
	if p.flowStyle(v, model) {
		return " " + p.flow(v, model, indent, false)
	}
	return gap + p.blockOf(v, indent, model)
}

func (p *printer) key(name string) string {
	if p.format == YAML && p.style.quote != "" {
		return p.keyLike(name, p.style.quote[0])
	}
	return p.keyLike(name, 0)
}

// keyLike renders a key with the quotes of the one it replaces.
func (p *printer) keyLike(name string, first byte) string {
	quoted := first == '"' || first == '\''
	switch {
	case p.format == TOML && quoted:
		return tomlString(name, first)
	case p.format == TOML:
		return tomlKey(name)
	case p.format == YAML && (quoted || !p.plain(name)):
		return yamlString(name, first)
	case p.format == YAML:
		return name
	}
	return jsonString(name)
}

func tomlKey(name string) string {
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || !isBare(byte(r)) }) {
		return name
	}
	return tomlString(name, '"')
}

func (p *printer) scalar(v any, model *node) string {
	style := byte(0)
	if model != nil && model.kind == StringKind {
		style = model.style
	}
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		return string(v)
	case Clock:
		return string(v)
	case string:
		switch p.format {
		case TOML:
			return tomlString(v, style&0x7f)
		case YAML:
			if style != '"' && style != '\'' && p.plain(v) {
				return v
			}
			return yamlString(v, style)
		}
		return jsonString(v)
	}
	return ""
}

func jsonString(s string) string { return doubleQuoted(s, `\u00`, false) }

func tomlString(s string, style byte) string {
	if style == '\'' && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\'' }) {
		return "'" + s + "'"
	}
	return doubleQuoted(s, `\u00`, true)
}

func yamlString(s string, style byte) string {
	if style == '\'' && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || isExotic(r) }) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return doubleQuoted(s, `\x`, true)
}

// isExotic reports whether r is a line break or mark that YAML parsers treat
// differently.
func isExotic(r rune) bool {
	return r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r >= 0xFFFE && r <= 0xFFFF
}

// doubleQuoted quotes and escapes s. hex begins the escape of a control character;
// del also escapes U+007F.
func doubleQuoted(s, hex string, del bool) string {
	const special, names = "\"\\\b\f\n\r\t", `"\bfnrt`
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch i := strings.IndexRune(special, r); {
		case i >= 0:
			out.WriteByte('\\')
			out.WriteByte(names[i])
		case r < ' ' || del && r == 0x7f:
			fmt.Fprintf(&out, "%s%02x", hex, r)
		case hex == `\x` && isExotic(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

var (
	safePlain = regex.New(`^(?:[A-Za-z_/]|\./)(?:[\w/.@+=()\\:-]*[\w/.@+=()\\-])?(?: [\w/.@+=()\\](?:[\w/.@+=()\\:-]*[\w/.@+=()\\-])?)*$`)
	// Words that some version of YAML reads as another type.
	notPlain = regex.New(`^(?i:true|false|yes|no|on|off|y|n|null|none|nan|inf)$`)
)

func (p *printer) plain(s string) bool {
	return plainYAML(s) && !(p.inside && strings.Contains(s, ":"))
}

// plainYAML reports whether every YAML parser reads s without quotes as a string.
func plainYAML(s string) bool {
	return safePlain.MatchString(s) && !notPlain.MatchString(s)
}
