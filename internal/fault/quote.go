package fault

import (
	"strings"
	"unicode/utf8"
)

// maxQuote is the longest piece of foreign text that any voice shows: a line, not a page.
const maxQuote = 240

// Quote makes foreign text fit to be shown: cleaned, secrets redacted by pattern, capped. The order matters: escape
// sequences could hide a secret from Redact, and a cap could cut one until Redact no longer knows it.
func Quote(s string) string { return Secrets{}.Quote(s) }

// Quote is the package's Quote that also knows these values.
func (s Secrets) Quote(text string) string {
	return capped(s.Redact(Redact(Clean(text))), maxQuote)
}

func (f *Fault) foreign(s string) string {
	if s == "" {
		return ""
	}
	return f.Secrets.Quote(s)
}

// foreignLines shows the last n lines: what a program says last is usually why it died. Empty lines are no evidence.
func (f *Fault) foreignLines(lines []string, n int) []string {
	// Twice the window is enough to see a key that spans lines, and bounds the work on a long list.
	if far := 64 * n; len(lines) > far {
		lines = lines[len(lines)-far:]
	}
	var out []string
	for _, l := range hideKeys(lines) {
		if q := f.foreign(l); q != "" {
			out = append(out, q)
		}
	}
	if len(out) > n {
		out = out[len(out)-n:]
	}
	return out
}

// capped cuts at a character, and says that it cut.
func capped(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + "…"
}
