package splice

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// fileStyle is how a file is formatted, sampled near the edit first.
type fileStyle struct {
	colon   string // between a key and its value: `: `, `:`, ` = `
	gap     string // after a comma on the same line
	pad     string // inside { }
	listPad string // inside [ ]
	unit    string // one step of indentation
	dashes  string // YAML: indentation of a list below its key
	quote   byte   // YAML: around keys in { }
	lists   layout // of lists of plain values
	seen    map[string]bool
}

type layout int

const (
	layoutUnknown layout = iota
	layoutLines          // one line each
	layoutOneLine        // all on one line, or YAML flow style
)

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
	at := 0
	if near != nil && !near.absent {
		at = near.start
	}
	p.nl = newline(e.d.text, at)
	l := fileStyle{seen: map[string]bool{}}
	if near != nil {
		budget := maxSamples
		l.sample(e.d, near, &budget)
	}
	budget := maxSamples
	l.sample(e.d, e.d.root, &budget)
	set := func(name string, field *string, usual string) {
		if !l.seen[name] {
			*field = usual
		}
	}
	set("colon", &l.colon, map[Format]string{TOML: " = "}[e.d.format])
	if l.colon == "" {
		l.colon = ": "
	}
	usualGap := " "
	if l.colon == ":" {
		usualGap = ""
	}
	set("gap", &l.gap, usualGap)
	set("pad", &l.pad, map[Format]string{TOML: " "}[e.d.format])
	set("unit", &l.unit, "  ")
	set("dashes", &l.dashes, l.unit)
	p.style = l
	return p
}

// sample inspects a node and its descendants until each style has been seen once.
func (l *fileStyle) sample(d *Document, n *node, budget *int) {
	text := d.text
	once := func(name string, field *string, value string) {
		if !l.seen[name] {
			*field, l.seen[name] = value, true
		}
	}
	if n.bracketed && len(n.children) > 0 && !n.children[0].node.scattered {
		first := n.children[0]
		inside := text[n.start+1 : first.start]
		if indent, own := margin(text, first.start); own && strings.Contains(inside, "\n") {
			if outer := indentOf(text, n.start); len(indent) > len(outer) && strings.HasPrefix(indent, outer) {
				once("unit", &l.unit, indent[len(outer):])
			}
		} else if strings.Trim(inside, " ") == "" {
			if n.kind == MapKind {
				once("pad", &l.pad, inside)
			} else {
				once("listPad", &l.listPad, inside)
			}
		}
		if n.kind == MapKind {
			if between := text[first.keyEnd:first.node.start]; strings.Trim(between, " :=") == "" && between != "" && !first.node.absent && int(first.node.props) <= first.node.start && (d.format != YAML || strings.HasSuffix(between, " ")) {
				once("colon", &l.colon, between)
			}
			if d.format == YAML && !l.seen["quote"] {
				l.seen["quote"] = true
				if q := text[first.start]; q == '"' || q == '\'' {
					l.quote = q
				}
			}
		}
		if len(n.children) > 1 {
			if comma := d.commaAfter(&first); comma == first.node.end {
				if between := text[comma+1 : n.children[1].start]; strings.Trim(between, " ") == "" {
					once("gap", &l.gap, between)
				}
			}
		}
	}
	if n.kind == ListKind && len(n.children) > 0 && l.lists == layoutUnknown && len(n.children[0].node.children) == 0 {
		_, own := margin(text, n.children[0].start)
		switch {
		case d.format == YAML && n.bracketed:
			l.lists = layoutOneLine
		case d.format == YAML || own:
			l.lists = layoutLines
		default:
			l.lists = layoutOneLine
		}
	}
	for i := range n.children {
		if *budget--; *budget <= 0 {
			return
		}
		c := &n.children[i]
		if d.format == YAML && !n.bracketed && n.kind == MapKind && !c.node.bracketed && len(c.node.children) > 0 {
			step := column(text, c.node.children[0].start) - column(text, c.start)
			if c.node.kind == ListKind {
				if step >= 0 {
					once("dashes", &l.dashes, strings.Repeat(" ", step))
				}
			} else if step > 0 {
				once("unit", &l.unit, strings.Repeat(" ", step))
			}
		}
		if d.format == TOML && n.scattered && !c.node.scattered {
			if between := text[c.keyEnd:c.node.start]; strings.Trim(between, " \t=") == "" && strings.Count(between, " ") <= 2 {
				once("colon", &l.colon, between)
			}
		}
		l.sample(d, c.node, budget)
	}
}

// model returns a child of n whose formatting a new value copies: the last one
// with the same key and kind, otherwise the last one of the same kind.
func (n *node) model(v any, name string) *node {
	if n == nil {
		return nil
	}
	kind := kindOf(v)
	for i := len(n.children) - 1; i >= 0; i-- {
		c := n.children[i]
		if c.name == name && name != "" && c.node.kind == kind && (len(c.node.children) > 0 || !isContainer(v)) {
			return c.node
		}
	}
	for i := len(n.children) - 1; i >= 0; i-- {
		if c := n.children[i]; c.node.kind == kind && (len(c.node.children) > 0 || !isContainer(v)) {
			return c.node
		}
	}
	return nil
}

// child returns the model for a value inside a value that has a model.
func (p *printer) child(model *node, v any, name string) *node {
	if model == nil || model.target != nil {
		return nil
	}
	return model.model(v, name)
}

// entries renders members or items of a bracketed n without commas.
func (p *printer) entries(n *node, fresh Map, indent string, multi bool) []string {
	var entries []string
	for _, m := range fresh {
		text := p.flow(m.Value, n.model(m.Value, m.Name), indent, multi && p.format != TOML)
		if n.kind == MapKind {
			text = p.key(m.Name) + p.style.colon + text
		}
		entries = append(entries, text)
	}
	return entries
}

// flow renders a value in brackets; multi allows several lines.
func (p *printer) flow(v any, model *node, indent string, multi bool) string {
	var entries []string
	inner := indent + p.style.unit
	open, shut, pad := "[", "]", p.style.listPad
	wide := multi && p.wide(v, model)
	if isContainer(v) {
		defer func(before bool) { p.inside = before }(p.inside)
		p.inside = true
	}
	switch v := v.(type) {
	case Map:
		open, shut, pad = "{", "}", p.style.pad
		for _, m := range v {
			entries = append(entries, p.key(m.Name)+p.style.colon+p.flow(m.Value, p.child(model, m.Value, m.Name), inner, wide))
		}
	case []any:
		for _, item := range v {
			entries = append(entries, p.flow(item, p.child(model, item, ""), inner, wide))
		}
	default:
		return p.scalar(v, model)
	}
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
		return p.breaks(model)
	}
	if items, isList := v.([]any); isList {
		for _, item := range items {
			if isContainer(item) && p.format != TOML {
				return true
			}
		}
		return p.style.lists == layoutLines
	}
	return true
}

// breaks reports whether the first entry of the model begins a line.
func (p *printer) breaks(model *node) bool {
	_, own := margin(p.text, model.children[0].start)
	return own
}

// flowStyle reports whether a YAML value is written in brackets.
func (p *printer) flowStyle(v any, model *node) bool {
	if isEmpty(v) || !isContainer(v) {
		return true
	}
	if model != nil && model.kind == kindOf(v) && len(model.children) > 0 {
		return model.bracketed
	}
	if items, isList := v.([]any); isList {
		for _, item := range items {
			if isContainer(item) {
				return false
			}
		}
		return p.style.lists == layoutOneLine
	}
	return false
}

// block renders members or items of n as lines with that indentation.
func (p *printer) block(n *node, fresh Map, indent string) string {
	var lines []string
	for _, m := range fresh {
		model := n.model(m.Value, m.Name)
		if n.kind == ListKind {
			lines = append(lines, p.item(m.Value, model, indent))
		} else {
			lines = append(lines, p.member(m, model, indent))
		}
	}
	return strings.Join(lines, p.nl+indent)
}

func (p *printer) blockOf(v any, indent string, model *node) string {
	var lines []string
	switch v := v.(type) {
	case Map:
		for _, m := range v {
			lines = append(lines, p.member(m, p.child(model, m.Value, m.Name), indent))
		}
	case []any:
		for _, item := range v {
			lines = append(lines, p.item(item, p.child(model, item, ""), indent))
		}
	}
	return strings.Join(lines, p.nl+indent)
}

func (p *printer) member(m Member, model *node, indent string) string {
	head := p.yamlKey(m.Name, 0) + ":"
	if p.flowStyle(m.Value, model) {
		return head + " " + p.flow(m.Value, model, indent, false)
	}
	inner := indent + p.style.unit
	if kindOf(m.Value) == ListKind {
		inner = indent + p.style.dashes
	}
	return head + p.nl + inner + p.blockOf(m.Value, inner, model)
}

func (p *printer) item(v any, model *node, indent string) string {
	if p.flowStyle(v, model) {
		return "- " + p.flow(v, model, indent, false)
	}
	return "- " + p.blockOf(v, indent+"  ", model)
}

func (p *printer) key(name string) string {
	switch p.format {
	case TOML:
		return tomlKey(name)
	case YAML:
		return p.yamlKey(name, p.style.quote)
	}
	return jsonString(name)
}

// keyLike renders a key with the quotes of the one it replaces.
func (p *printer) keyLike(name string, first byte) string {
	if p.format == YAML && (first == '"' || first == '\'') {
		return p.yamlKey(name, first)
	}
	if p.format == TOML && first == '\'' && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\'' }) {
		return "'" + name + "'"
	}
	if p.format == TOML && first == '"' {
		return tomlString(name, '"')
	}
	if p.format == YAML {
		return p.yamlKey(name, 0)
	}
	return p.key(name)
}

func tomlKey(name string) string {
	bare := name != ""
	for i := range len(name) {
		bare = bare && isBare(name[i])
	}
	if bare {
		return name
	}
	return tomlString(name, '"')
}

func (p *printer) yamlKey(name string, quote byte) string {
	if quote == 0 && p.plain(name) {
		return name
	}
	return yamlString(name, quote)
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

const hexDigits = "0123456789abcdef"

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
			out.WriteString(hex)
			out.WriteByte(hexDigits[r>>4])
			out.WriteByte(hexDigits[r&15])
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
	safePlain = regexp.MustCompile(`^(?:[A-Za-z_/]|\./)(?:[\w/.@+=()\\:-]*[\w/.@+=()\\-])?(?: [\w/.@+=()\\](?:[\w/.@+=()\\:-]*[\w/.@+=()\\-])?)*$`)
	// Words that some version of YAML reads as another type.
	notPlain = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|none|nan|inf)$`)
)

func (p *printer) plain(s string) bool {
	return plainYAML(s) && !(p.inside && strings.Contains(s, ":"))
}

// plainYAML reports whether every YAML parser reads s without quotes as a string.
func plainYAML(s string) bool {
	return safePlain.MatchString(s) && !notPlain.MatchString(s)
}
