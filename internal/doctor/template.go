package doctor

import (
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// fill puts names into a sentence: {port}, or {port|its port} with what is
// said if the port is not known; {{ is a brace. A name is foreign text and is shown as such.
func fill(template string, name func(string) string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		if strings.HasPrefix(template[open+1:], "{") {
			b.WriteString(template[:open+1])
			template = template[open+2:]
			continue
		}
		end := strings.IndexByte(template[open:], '}')
		if end < 0 {
			break
		}
		key, otherwise, _ := strings.Cut(template[open+1:open+end], "|")
		value := name(key)
		if value == "" {
			value = otherwise
		}
		b.WriteString(template[:open])
		b.WriteString(value)
		template = template[open+end+1:]
	}
	b.WriteString(template)
	return b.String()
}

// longestName is above every honest name; a path may be long.
const longestName = 160

// shown is a name out of the evidence, fit to be put into a sentence.
func shown(secrets fault.Secrets, text string) string {
	text = strings.TrimRight(strings.Trim(secrets.Quote(text), " \"'`‘’“”"), ".,;: \"'`")
	if len(text) > longestName {
		cut := longestName
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	if strings.ContainsAny(text, ";|&$`<>()\\*?") {
		text = "'" + strings.ReplaceAll(text, "'", "") + "'" // it may stand in a command that is copied
	}
	return text
}

// reason is a line of the evidence, fit to be shown. Of a long one the part
// around the hit is shown; it is redacted whole before, so that no cut can make
// half a secret of one.
func reason(secrets fault.Secrets, m *match) string {
	const width = 220
	line := fault.Redact(secrets.Redact(fault.Clean(m.said)))
	if len(line) <= width {
		return line
	}
	at := strings.Index(line, firstLine(m.hit))
	from := max(0, at-60)
	if at < 0 || from == 0 {
		from = 0
	} else if space := strings.IndexByte(line[from:], ' '); space >= 0 && space < 60 {
		from += space + 1
	}
	for from < len(line) && !utf8.RuneStart(line[from]) {
		from++
	}
	text := fault.Quote(line[from:])
	if from > 0 {
		text = "…" + text
	}
	return text
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 60)]
}
