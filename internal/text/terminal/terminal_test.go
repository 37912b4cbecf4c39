package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressUsesTheWidthOfTheTerminal(t *testing.T) {
	line := strings.Repeat("word ", 30) + "end"
	if got := progressLine(line, 200); !strings.HasSuffix(got, "end\x1b[K") {
		t.Errorf("200 columns show %q", got)
	}
	for _, width := range []int{20, 80, 120} {
		shown := []rune(strings.TrimSuffix(strings.TrimPrefix(progressLine(line, width), "\r"), "\x1b[K"))
		if len(shown) >= width || len(shown) < width-8 {
			t.Errorf("%d columns show %d characters: %q", width, len(shown), string(shown))
		}
	}
}

// What takes less than a second says nothing; the rest says what is waited for, and clears its line.
func TestWaitSaysWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		show := func(line string) { lines = append(lines, line) }
		done := wait(show, "the registry")
		time.Sleep(waitDelay / 2)
		done()
		done = wait(show, "the model")
		time.Sleep(waitDelay*2 + waitDelay/2)
		done()
		done()
		if got := strings.Join(lines, "|"); got != "|waiting for the model (1 s)|waiting for the model (2 s)|" {
			t.Errorf("%q", got)
		}
	})
}

func TestProgressNeedsATerminal(t *testing.T) {
	var b strings.Builder
	Progress(&b, false)("line")
	Wait(&b, false, "something")()
	if b.Len() > 0 {
		t.Errorf("%q", b.String())
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
