package doctor

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// How much of a text is examined: programs report why they failed first or last.
const (
	headBytes = 16 << 10
	tailBytes = 32 << 10
	pieceSize = 3 << 10 // maximum length of a line; longer ones are split
)

// legible turns any bytes into lines: bounded, in UTF-8, without terminal sequences and invisible
// characters, and with the escapes of a JSON string undone.
func legible(text string) string {
	text = decode(bound(text))
	text = joinReasons(ownLines(unescape(text)))
	var b strings.Builder
	b.Grow(len(text))
	seen := map[uint64]int{}
	grouped := strings.Contains(text, "ExceptionGroup")
	for line := range strings.SplitSeq(text, "\n") {
		line = withoutList(withoutPrefix(line))
		if grouped {
			line = withoutBar(line)
		}
		form := shape(line)
		if seen[form]++; seen[form] > maxRepeats {
			continue
		}
		for len(line) > 0 {
			piece := line
			if len(line) > pieceSize {
				piece = line[:pieceSize]
				if at := strings.LastIndexByte(piece, ' '); at > 0 {
					piece = piece[:at]
				}
			}
			line = line[len(piece):]
			if clean := plaintext.Clean(piece); clean != "" {
				b.WriteString(clean)
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// joinReasons joins the lines into which uv breaks its reasons: patterns match its sentences.
func joinReasons(text string) string {
	if !strings.Contains(text, " Because ") {
		return text
	}
	var lines []string
	inside := false
	for raw := range strings.SplitSeq(text, "\n") {
		line := withoutPrefix(raw)
		words := strings.TrimLeft(line, " ")
		continued := inside && len(line)-len(words) >= 6
		if inside = continued || strings.HasPrefix(words, "cause: Because ") || strings.Contains(words, "─▶ Because ") ||
			strings.HasPrefix(words, "`-> Because "); continued && !reasonStart.MatchString(words) {
			lines[len(lines)-1] += " " + words
		} else {
			lines = append(lines, raw)
		}
	}
	return strings.Join(lines, "\n")
}

// reasonStart matches the begin of a sentence in uv's reasons.
var reasonStart = regex.New(`^(?:And because |hint: |help: |cause: |$)`)

// withoutPrefix returns a line of a server's stderr without what a client puts before it: the level
// there is the client's, and patterns of several lines must match.
func withoutPrefix(line string) string {
	_, rest, found := strings.Cut(line[:min(len(line), 80)], "] ")
	if !found || !strings.HasPrefix(rest, "[server stderr] ") && !strings.HasPrefix(rest, "user-") &&
		!strings.HasPrefix(rest, "project-") && !strings.HasPrefix(rest, "plugin-") && !strings.HasPrefix(rest, "extension-") {
		return line
	}
	if where := clientPrefix.FindStringIndex(line); where != nil {
		return line[where[1]:]
	}
	return line
}

var clientPrefix = regex.New(`^\d{4}-\d\d-\d\d[T ]\S+ \[(?:error|warning)\] (?:\[server stderr\] |(?:user|project|plugin|` +
	`extension)-[\w.-]+: )`)

// ownLines puts the text in the result of a failed call on lines of its own: there it reads like any other
// output.
func ownLines(text string) string {
	if !strings.Contains(text, `"isError":true`) && !strings.Contains(text, `"isError": true`) {
		return text
	}
	return textMember.Replace(text)
}

var textMember = strings.NewReplacer(`"text":"`, "\"text\":\n", `"text": "`, "\"text\":\n")

// withoutBar returns a line without the bars to the left of the errors in a Python exception group.
func withoutBar(line string) string {
	for {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "|")
		if !ok {
			return line
		}
		line = strings.TrimPrefix(rest, " ")
	}
}

// withoutList cuts a line off before a list of tools, prompts or resources that the server sent: what
// their descriptions say is not about the failure.
func withoutList(line string) string {
	at := strings.Index(line, `"result"`)
	if at < 0 {
		return line
	}
	rest := strings.TrimLeft(line[at+len(`"result"`):], ": {")
	for _, list := range []string{`"tools"`, `"prompts"`, `"resources"`, `"resourceTemplates"`} {
		if list, ok := strings.CutPrefix(rest, list); ok && strings.HasPrefix(strings.TrimLeft(list, ": "), "[") {
			return line[:at]
		}
	}
	return line
}

// maxRepeats is how many lines that differ only in numbers are kept: a log that repeats itself adds
// nothing.
const maxRepeats = 4

// shape returns the same hash for lines that differ only in numbers.
func shape(line string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(line) {
		c := line[i]
		if c >= '0' && c <= '9' {
			c = '0'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// bound keeps the beginning and the end of a long text, in whole lines if possible.
func bound(text string) string {
	if len(text) <= headBytes+tailBytes {
		return text
	}
	even := (len(text) - tailBytes) &^ 1 // do not split a UTF-16 character
	return text[:headBytes] + "\n" + strings.TrimPrefix(text[even:], "\n")
}

// decode converts what Windows programs write to UTF-8. Code pages cannot be told apart: bytes that
// are not UTF-8 become U+FFFD, and the rules for such text match the ASCII around them.
func decode(text string) string {
	if strings.HasPrefix(text, "\xff\xfe") {
		return decode16(text[2:], 0)
	}
	if strings.HasPrefix(text, "\xfe\xff") {
		return decode16(text[2:], 1)
	}
	sample := text[:min(len(text), 512)]
	if nul := strings.Count(sample, "\x00"); nul > 0 && nul >= len(sample)*2/5 {
		low := 0
		if sample[0] == 0 {
			low = 1
		}
		return decode16(text, low)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return text
}

// decode16 decodes UTF-16. low is the index of the low byte in a pair.
func decode16(text string, low int) string {
	units := make([]uint16, 0, len(text)/2)
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+low])|uint16(text[i+1-low])<<8)
	}
	return string(utf16.Decode(units))
}

// unescape undoes the escapes of a log inside a JSON string: \n, \r, \t, \" \u0027 and \\. Windows
// paths contain backslashes, so with such paths in the text, \n and the like count only if no
// lower-case letter or digit follows: C:\Users\me\npm-cache is unchanged. In JSON, the backslashes
// of a path are doubled.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	paths := drivePathInside.MatchString(text)
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			b.WriteByte(c)
			continue
		}
		ends := i+2 >= len(text) || !isLowerOrDigit(text[i+2]) || !paths && !inWindowsPath(text[i+1:])
		switch next := text[i+1]; {
		case next == '"' || next == '\\':
			b.WriteByte(next)
			i++
		case next == '!' || next == '/':
			b.WriteByte(next)
			i++
		case next == 'u' && i+5 < len(text):
			code, err := strconv.ParseUint(text[i+2:i+6], 16, 16)
			if err != nil {
				b.WriteByte(c)
				continue
			}
			b.WriteRune(rune(code))
			i += 5
		case next == 'n' && ends:
			b.WriteByte('\n')
			i++
		case (next == 'r' || next == 't') && ends:
			b.WriteByte(' ')
			i++
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// drivePathInside matches a path of Windows whose backslashes are not doubled.
var drivePathInside = regex.New(`\b[A-Za-z]:\\[^\\"]`)

// inWindowsPath reports whether text begins like a directory that is common in relative paths, after
// a backslash.
func inWindowsPath(text string) bool {
	return slices.ContainsFunc([]string{"node", "npm", "npx", "nvm", "roaming", "resources", "release", "temp", "tools", "test", "target",
		"run"}, func(name string) bool { return strings.HasPrefix(text, name) })
}

func isLowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
