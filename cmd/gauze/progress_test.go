package main

import (
	"strings"
	"testing"
)

func TestProgressUsesTheWidthOfTheTerminal(t *testing.T) {
	line := strings.Repeat("word ", 30) + "end"
	if got := progressLine(line, 200); !strings.HasSuffix(got, "end") {
		t.Errorf("200 columns show %q", got)
	}
	for _, width := range []int{20, 80, 120} {
		shown := []rune(strings.TrimPrefix(progressLine(line, width), "\r\x1b[K"))
		if len(shown) >= width || len(shown) < width-8 {
			t.Errorf("%d columns show %d characters: %q", width, len(shown), string(shown))
		}
	}
}
