package splice

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Columns count characters, also where a long line is cut inside of one.
func TestPositionOnLongLines(t *testing.T) {
	text := "short\n" + strings.Repeat("aü€𝄞", 1000) + "\r\nend"
	d := Document{text: text, lines: lineStarts(text), runes: runeCounts(text)}
	for at := range text {
		start := strings.LastIndexByte(text[:at], '\n') + 1
		if _, column := d.position(at); column != 1+utf8.RuneCountInString(text[start:at]) {
			t.Fatalf("byte %d is in column %d", at, column)
		}
	}
	if line, column := d.position(len(text)); line != 3 || column != 4 {
		t.Errorf("the end is at %d:%d", line, column)
	}
}
