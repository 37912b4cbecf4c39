package terminal

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

func TestTableAlignsColumns(t *testing.T) {
	text, widest := Table([][]string{{"NAME", "N"}, {"añb", "1000"}, {"longer", "2"}}, func(row, _ int, cell string) string {
		return Paint(row == 0).Faint(cell)
	})
	want := "\x1b[2mNAME\x1b[0m    \x1b[2mN\x1b[0m\nañb     1000\nlonger  2\n"
	if text != want || widest != 12 {
		t.Errorf("%d columns:\n%q\nwant\n%q", widest, text, want)
	}
}

func TestLinesFit(t *testing.T) {
	if got, want := FoldList("one, two, three", "  ", 12), "  one, two,\n  three"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := FoldAfter(strings.Repeat("four ", 20), "\n      "); got != strings.Repeat("four ", 14)+"four\n      "+strings.Repeat("four ", 4)+"four" {
		t.Errorf("%q", got)
	}
	if got := Short("abcdé", 4); got != "abc…" {
		t.Errorf("%q", got)
	}
}

func TestAnswersAreYesOrNo(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, " YES \n": true, "yes": true, "n\n": false, "\n": false, "": false, "yep\n": false} {
		var out strings.Builder
		if got := Ask(strings.NewReader(answer), &out, "Go on?"); got != want || out.String() != "Go on? [y/N] " {
			t.Errorf("%q is %v after %q", answer, got, out.String())
		}
	}
}
