package main

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/fleet"
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

// A question stays on the terminal while other servers are tested.
func TestNoProgressReplacesAQuestion(t *testing.T) {
	var lines []string
	var show func(string)
	show, agree := aroundQuestions(func(line string) { lines = append(lines, line) }, func(*fleet.Server, fleet.Offer) bool {
		show("during")
		return true
	})
	show("before")
	if !agree(nil, fleet.Offer{}) {
		t.Error("the answer is lost")
	}
	show("after")
	if got := strings.Join(lines, ","); got != "before,,after" {
		t.Error(got)
	}
}
