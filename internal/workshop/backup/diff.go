package backup

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Unified returns a complete unified diff in which nothing can hide: invisible characters are
// escaped, and so are CRs unless every line has one. nil means no file. The diff contains the
// file's secrets, so redact it before showing it to anyone but the owner.
func Unified(path string, old, new []byte) string {
	name := visible(path)
	from, to := name, name
	if old == nil {
		from = "/dev/null"
	}
	if new == nil {
		to = "/dev/null"
	}
	if crlf(old) && crlf(new) { // unchanged, so do not mark every line
		old, new = bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(new, []byte("\r\n"), []byte("\n"))
	}
	text := string(diff.Diff(from, old, to, new))
	_, text, _ = strings.Cut(text, "\n") // drop the "diff old new" line
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(visible(strings.TrimSuffix(line, "\n")))
		b.WriteByte('\n')
	}
	return b.String()
}

// crlf reports whether all lines end with CRLF.
func crlf(content []byte) bool {
	n := bytes.Count(content, []byte("\n"))
	return n > 0 && n == bytes.Count(content, []byte("\r\n"))
}

// visible escapes characters that a terminal would not show or would interpret.
func visible(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "‹0x%02X›", line[i])
		case r == '\r' && i == len(line)-1:
			b.WriteString("␍")
		case r == '\t' || !plaintext.Unseen(r):
			b.WriteString(line[i : i+size])
		default:
			fmt.Fprintf(&b, "‹U+%04X›", r)
		}
		i += size
	}
	return b.String()
}
