package life

import (
	"fmt"
	"strings"
	"testing"
)

func texts(o *Output) (all []string) {
	for _, l := range o.Lines() {
		text := l.Text
		if l.Stdout {
			text = "stdout " + text
		}
		if l.Open {
			text += "…"
		}
		all = append(all, text)
	}
	return all
}

func TestOutputKeepsWholeLines(t *testing.T) {
	var o Output
	o.Stderr([]byte("one\r\ntw"))
	o.Stdout([]byte("hello\n"))
	o.Stderr([]byte("o\n\nthree"))
	if got := strings.Join(texts(&o), "|"); got != "one|stdout hello|two|three…" {
		t.Error(got)
	}
	o.End()
	o.Stderr([]byte("four\n"))
	if got := strings.Join(texts(&o), "|"); got != "one|stdout hello|two|three|four" {
		t.Error(got)
	}
}

// Who masks a line must know that its end is missing, and gets no half characters.
func TestOutputMarksLinesWithoutAnEnd(t *testing.T) {
	var o Output
	full := strings.Repeat("x", maxLineBytes)
	o.Stderr([]byte(full + "\n" + full))
	o.Stderr([]byte("y\n" + full[1:] + "é\nshort\n"))
	o.Stdout([]byte(full + "\r\n"))
	o.Stdout([]byte(full + "y\n"))
	o.Stderr([]byte("half \xc3"))
	lines := o.Lines()
	for i, cut := range []bool{false, true, true, false, false, true, false} {
		if lines[i].Cut != cut || len(lines[i].Text) > maxLineBytes {
			t.Errorf("line %d: cut %v, %d bytes", i, lines[i].Cut, len(lines[i].Text))
		}
	}
	if lines[2].Text != full[1:] || lines[6].Text != "half " || !lines[6].Open {
		t.Errorf("%q, %q", lines[2].Text[990:], lines[6].Text)
	}
}

func TestOutputIsBounded(t *testing.T) {
	var o Output
	for i := range 3 * maxLines {
		o.Stderr(fmt.Appendf(nil, "%d\n", i))
	}
	if got := texts(&o); len(got) != maxLines || got[maxLines-1] != fmt.Sprint(3*maxLines-1) {
		t.Errorf("%d lines, the last one is %s", len(got), got[len(got)-1])
	}
	long := []byte(strings.Repeat("x", 5000))
	for range 200 {
		o.Stderr(long) // without an end, and then with one
		o.Stderr([]byte("\n"))
	}
	size := 0
	for _, text := range texts(&o) {
		size += len(text)
	}
	if size > maxOutputBytes || size < maxOutputBytes-maxLineBytes || len(o.open) > maxLineBytes {
		t.Errorf("%d bytes are kept", size)
	}
	var none *Output
	none.Stderr(long)
	none.Stdout(long)
	none.End()
}
