package backup

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Unified shows a change as people know it. Nothing in it is left out or shortened, and nothing can hide in it:
// characters that show nothing are spelled out, line ends where they are not the same everywhere. nil is no file.
// The contents of a file are in it, secrets, too: whoever shows it to anybody but its owner hides them first.
func Unified(path string, old, new []byte) string {
	name := visible(path)
	from, to := name, name
	if old == nil {
		from = "/dev/null"
	}
	if new == nil {
		to = "/dev/null"
	}
	if crlf(old) && crlf(new) { // as before: no need to say so on every line
		old, new = bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(new, []byte("\r\n"), []byte("\n"))
	}
	text := string(diff.Diff(from, old, to, new))
	_, text, _ = strings.Cut(text, "\n") // the command line of a diff that nobody ran
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

// crlf tells whether lines end as they do on Windows, all of them.
func crlf(content []byte) bool {
	n := bytes.Count(content, []byte("\n"))
	return n > 0 && n == bytes.Count(content, []byte("\r\n"))
}

// visible spells out what a terminal would not show, or obey.
func visible(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "‹0x%02X›", line[i])
		case r == '\r' && i == len(line)-1:
			b.WriteString("␍")
		case r == '\t' || !fault.Unseen(r):
			b.WriteString(line[i : i+size])
		default:
			fmt.Fprintf(&b, "‹U+%04X›", r)
		}
		i += size
	}
	return b.String()
}
