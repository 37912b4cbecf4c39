package splice

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The five kinds of YAML scalars: plain, single-quoted, double-quoted, literal and
// folded.

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

// plain reads a scalar without quotes, which may span several lines.
func (r *yamlReader) plain(n *node, parent int, flow bool) {
	c := r.peek()
	if c == 0 && r.p >= len(r.text) || strings.IndexByte(",[]{}#&*!|>'\"%@`", c) >= 0 ||
		strings.IndexByte("-?:", c) >= 0 && (r.blankAt(r.p+1) || flow && strings.IndexByte(flowIndicators, r.at(r.p+1)) >= 0) {
		r.fail("a value cannot start with this character", "put it in quotes")
	}
	var lines []string
	for {
		from, end := r.p, r.lineEnd()
		for r.p < end {
			c := r.text[r.p]
			if c == '#' && r.p > from && isBlank(r.text[r.p-1]) || flow && strings.IndexByte(flowIndicators, c) >= 0 {
				break
			}
			if c == ':' && (r.blankAt(r.p+1) || flow && strings.IndexByte(flowIndicators, r.text[r.p+1]) >= 0) {
				if flow && len(lines) == 0 {
					break
				}
				r.fail("a second colon makes this line ambiguous", "put the value in quotes")
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
		// Check whether it continues. Empty lines count; a comment ends it.
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
			flow && strings.IndexByte(flowIndicators, r.text[start]) >= 0 || parent < 0 && r.keyAheadPlain(flow)
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

// keyAheadPlain stops a plain value at the top of a file before the keys below it.
func (r *yamlReader) keyAheadPlain(flow bool) bool { return !flow && r.keyAhead() }

// fold joins lines: one newline becomes a space, n newlines become n-1.
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
		r.fail("this string is not closed", "add "+string(n.style)+" at its end")
	}
	inner := r.text[r.p+1 : end-1]
	if strings.Contains(inner, "\n") {
		lines := strings.Split(strings.ReplaceAll(inner, "\r\n", "\n"), "\n")
		for i, line := range lines {
			trimmed := strings.TrimLeft(line, " \t")
			if i > 0 {
				if trimmed != "" && (len(line)-len(trimmed) <= parent || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")) {
					r.fail("a line of this string is not indented far enough", "indent it, or close the string")
				}
				line = trimmed
			}
			if i < len(lines)-1 {
				if n.style == '"' && oddBackslashes(line) {
					r.fail("a line that ends with a backslash is not supported", "edit this file by hand")
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
			r.fail("this string contains an invalid escape", `write \\, or use single quotes`)
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
			r.fail("this string contains an invalid escape", `write \\, or use single quotes`)
		}
		v, ok := hexRune(s[i+1 : i+1+digits])
		if !ok || !utf8.ValidRune(v) {
			r.fail("this string contains an invalid escape", `write \\, or use single quotes`)
		}
		out = utf8.AppendRune(out, v)
		i += digits
	}
	return string(out)
}

// blockScalar reads | and >: the lines below that are indented by more than
// parent.
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
			r.fail("this block scalar header is not valid", "write | or > alone")
		}
		r.p++
	}
	head := r.p
	r.space()
	if !r.atLineEnd() {
		r.fail("the content of a block scalar starts on the next line", "")
	}
	var lines []string
	n.end = head
	at := nextLine(r.text, r.p)
	for ; at < len(r.text); at = nextLine(r.text, at) {
		stop := lineEnd(r.text, at)
		line := r.text[at:stop]
		content := strings.TrimLeft(line, " ")
		column := len(line) - len(content)
		if content == "" {
			line = line[min(column, indent):]
			if indent == 0 {
				line = ""
			}
		} else {
			if indent == 0 && column > parent {
				indent = column
			}
			if column <= parent || column < indent || column == 0 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")) {
				break
			}
			line = line[indent:]
		}
		lines = append(lines, line)
		if line != "" || chomp == '+' {
			n.end = stop
		}
	}
	r.p = at
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

// foldBlock folds like >: lines that begin with white space are kept.
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
