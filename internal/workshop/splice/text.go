package splice

import (
	"bytes"
	"encoding/binary"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is the character encoding of a file.
type encoding int

const (
	utf8Plain encoding = iota
	utf8Marked
	utf16Little
	utf16Big
)

var marks = map[encoding][]byte{utf8Marked: {0xEF, 0xBB, 0xBF}, utf16Little: {0xFF, 0xFE}, utf16Big: {0xFE, 0xFF}}

// decode detects the encoding and rejects files that it cannot reproduce byte for
// byte.
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
		for at, r := range text {
			if r == utf8.RuneError && !strings.HasPrefix(text[at:], string(r)) {
				d := Document{text: text, lines: lineStarts(text), runes: runeCounts(text)}
				return "", form, d.syntaxError(parseFailure{at, "this is not UTF-8 text", "save the file as UTF-8"})
			}
		}
		return text, form, nil
	}
	var units []uint16
	for at := 0; at+1 < len(body); at += 2 {
		units = append(units, form.order().Uint16(body[at:]))
	}
	text := string(utf16.Decode(units))
	if !bytes.Equal(form.encode(text), file) {
		return "", form, &SyntaxError{Line: 1, Column: 1, What: "this is not valid UTF-16 text", Hint: "save the file as UTF-8"}
	}
	return text, form, nil
}

func (e encoding) encode(text string) []byte {
	file := append([]byte{}, marks[e]...) // never nil: an empty file is a file
	if e == utf8Plain || e == utf8Marked {
		return append(file, text...)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		file = e.order().AppendUint16(file, unit)
	}
	return file
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (e encoding) order() byteOrder {
	if e == utf16Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
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

// position converts an offset. Lines and columns start at 1; columns count
// characters.
func (d *Document) position(at int) (line, column int) {
	line = d.line(at)
	return line, 1 + d.runesBefore(at) - d.runesBefore(d.lines[line-1])
}

// runeBlock is the distance in bytes between two entries of runeCounts.
const runeBlock = 1 << 10

// runeCounts counts the characters before each block, so that the cost of a
// column does not depend on the length of its line.
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

// runeStarts counts characters by their first bytes, so text may be cut anywhere.
func runeStarts(text string) (n int) {
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

func (d *Document) line(at int) int { return sort.SearchInts(d.lines, at+1) }

// lineStart returns the start of the line that contains at.
func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the end of the line that contains at, before its newline.
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

// nextLine returns the start of the line after the one that contains at.
func nextLine(text string, at int) int {
	next := strings.IndexByte(text[at:], '\n')
	if next < 0 {
		return len(text)
	}
	return at + next + 1
}

// prevLineEnd returns the end of the line before the one that begins at start.
func prevLineEnd(text string, start int) int {
	if start > 0 && text[start-1] == '\n' {
		start--
		if start > 0 && text[start-1] == '\r' {
			start--
		}
	}
	return start
}

// margin returns the white space before a position and reports whether it begins
// the line. It scans back only over that white space: a file may be one long line.
func margin(text string, at int) (string, bool) {
	start := at
	for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
		start--
	}
	return text[start:at], start == 0 || text[start-1] == '\n'
}

// indentOf returns the indentation of the line that contains at.
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

// newline returns the newline sequence used around a position.
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

// endsLine reports whether at is the end of a line.
func endsLine(text string, at int) bool {
	return at >= len(text) || text[at] == '\n' || text[at] == '\r' && at+1 < len(text) && text[at+1] == '\n'
}
