package splice

import (
	"bytes"
	"encoding/binary"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a file writes its characters.
type encoding int

const (
	utf8Plain encoding = iota
	utf8Marked
	utf16Little
	utf16Big
)

var marks = map[encoding][]byte{utf8Marked: {0xEF, 0xBB, 0xBF}, utf16Little: {0xFF, 0xFE}, utf16Big: {0xFE, 0xFF}}

// decode finds out the encoding; a file that it cannot give back byte for byte
// is refused.
func decode(file []byte) (string, encoding, error) {
	form := utf8Plain
	for _, candidate := range []encoding{utf8Marked, utf16Little, utf16Big} {
		if bytes.HasPrefix(file, marks[candidate]) {
			form = candidate
		}
	}
	body := file[len(marks[form]):]
	if form == utf8Plain || form == utf8Marked {
		text := string(body)
		if !utf8.ValidString(text) {
			at := 0
			for at < len(text) {
				r, size := utf8.DecodeRuneInString(text[at:])
				if r == utf8.RuneError && size == 1 {
					break
				}
				at += size
			}
			d := Document{text: text, lines: lineStarts(text), runes: runeCounts(text)}
			return "", form, d.syntaxError(stopped{at, "this is not UTF-8 text", "save the file as UTF-8"})
		}
		return text, form, nil
	}
	var units []uint16
	for at := 0; at+1 < len(body); at += 2 {
		units = append(units, form.order().Uint16(body[at:]))
	}
	text := string(utf16.Decode(units))
	if !bytes.Equal(form.encode(text), file) {
		return "", form, &SyntaxError{Line: 1, Column: 1, What: "this is not whole UTF-16 text", Hint: "save the file as UTF-8"}
	}
	return text, form, nil
}

func (e encoding) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if e == utf16Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (e encoding) encode(text string) []byte {
	file := bytes.Clone(marks[e])
	if e == utf8Plain || e == utf8Marked {
		return append(file, text...)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		file = e.order().AppendUint16(file, unit)
	}
	return file
}

func lineStarts(text string) []int {
	starts := make([]int, 1, 1+strings.Count(text, "\n"))
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return starts
		}
		at += next + 1
		starts = append(starts, at)
	}
}

// position counts from one, columns in characters.
func (d *Document) position(at int) (line, column int) {
	line = d.line(at)
	return line, 1 + d.runesBefore(at) - d.runesBefore(d.lines[line-1])
}

// runeBlock is the number of bytes between two counts of characters.
const runeBlock = 1 << 10

// runeCounts counts the characters before each block, so that a column far out
// on a long line costs no more than one near its start.
func runeCounts(text string) (counts []int) {
	n := 0
	for from := 0; from <= len(text); from += runeBlock {
		counts = append(counts, n)
		n += runeStarts(text[from:min(from+runeBlock, len(text))])
	}
	return counts
}

func (d *Document) runesBefore(at int) int {
	block := at / runeBlock
	return d.runes[block] + runeStarts(d.text[block*runeBlock:at])
}

// runeStarts counts characters by their first bytes, wherever the text is cut.
func runeStarts(text string) (n int) {
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

func (d *Document) line(at int) int { return sort.SearchInts(d.lines, at+1) }

// lineStart is where the line of a position begins.
func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd is the end of the line, before its line end.
func lineEnd(text string, at int) int {
	next := strings.IndexByte(text[at:], '\n')
	if next < 0 {
		return len(text)
	}
	if at += next; at > 0 && text[at-1] == '\r' {
		at--
	}
	return at
}

// nextLine is the start of the line after the one of a position.
func nextLine(text string, at int) int {
	next := strings.IndexByte(text[at:], '\n')
	if next < 0 {
		return len(text)
	}
	return at + next + 1
}

// before is the end of the line before the one that begins at start.
func before(text string, start int) int {
	if start > 0 && text[start-1] == '\n' {
		start--
		if start > 0 && text[start-1] == '\r' {
			start--
		}
	}
	return start
}

// margin is the white space between the start of the line and a position, if
// there is nothing else. It looks no further back than it must: a file may be
// one long line.
func margin(text string, at int) (string, bool) {
	start := at
	for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
		start--
	}
	return text[start:at], start == 0 || text[start-1] == '\n'
}

// indentOf is the white space the line of a position begins with.
func indentOf(text string, at int) string {
	start := lineStart(text, at)
	return text[start:skipSpace(text, start)]
}

func skipSpace(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func skipWhite(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// newline is the line end in use around a position.
func newline(text string, at int) string {
	if at < 0 || at > len(text) {
		at = 0
	}
	end := strings.IndexByte(text[at:], '\n')
	if end >= 0 {
		end += at
	} else {
		end = strings.LastIndexByte(text[:at], '\n')
	}
	if end > 0 && text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// endsLine: nothing is left of the line.
func endsLine(text string, at int) bool {
	return at >= len(text) || text[at] == '\n' || text[at] == '\r' && at+1 < len(text) && text[at+1] == '\n'
}
