package clientconfig

import "strings"

// span is a part of a file.
type span struct{ from, to int }

// looseParts finds comments and trailing commas in text, which must be valid JSON with comments.
func looseParts(text string) (comments, commas []span) {
	comma := -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case strings.HasPrefix(text[i:], "//"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				end = len(text) - i
			}
			if end > 0 && text[i+end-1] == '\r' {
				end--
			}
			comments = append(comments, span{i, i + end})
			i += end - 1
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return comments, commas
			}
			comments = append(comments, span{i, i + 2 + end + 2})
			i += 2 + end + 1
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				commas = append(commas, span{comma, comma + 1})
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return comments, commas
}

// cut removes parts of a file, the last first, so that the offsets of the others stay valid.
func cut(text string, pieces []span) (e Edit) {
	for i := len(pieces) - 1; i >= 0; i-- {
		p := pieces[i]
		e = append(e, Change{Do: Put, From: p.from, To: p.to, Old: text[p.from:p.to]})
	}
	return e
}

// wholeLine extends a comment that is alone on its line to the whole line, and any other to the
// spaces before it.
func wholeLine(text string, p span) span {
	start := strings.LastIndexByte(text[:p.from], '\n') + 1
	end := strings.IndexByte(text[p.to:], '\n')
	if strings.TrimSpace(text[start:p.from]) == "" && end >= 0 && strings.TrimSpace(text[p.to:p.to+end]) == "" {
		return span{start, p.to + end + 1}
	}
	for p.from > start && (text[p.from-1] == ' ' || text[p.from-1] == '\t') {
		p.from--
	}
	return p
}
