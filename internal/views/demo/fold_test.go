package demo

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestScreenFitsEightyColumns(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, false)
	s.scene(2, 8, "Killed in the middle of a write", strings.Repeat("The effect may have happened. ", 5))
	s.client(`calls forecast {"city":"Oslo","days":2,"units":null,"tags":"['wind', 'rain']"} and waits for its response`)
	s.closing(verdict{})
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width {
			t.Errorf("wider than %d columns: %s", width, line)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(out.String()), "gauze doctor") { // as the README goes on
		t.Errorf("the last line is not the next command: %s", out.String())
	}
}

func TestFoldKeepsWordsAndColors(t *testing.T) {
	if got := fold("a "+strings.Repeat("x", 100)+" b", 2); got != "a\n  "+strings.Repeat("x", 100)+"\n  b" {
		t.Errorf("got %q", got)
	}
	colored := strings.Repeat("\x1b[31mword\x1b[0m ", 14) + "end" // 74 columns
	if got := fold(colored, 2); got != colored {
		t.Errorf("got %q", got)
	}
}
