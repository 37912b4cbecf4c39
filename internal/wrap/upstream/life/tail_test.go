package life

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

func TestTailKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	for _, story := range []struct{ says, stream, want string }{
		{"nothing of nothing", "", ""},
		{"all of a few", "a\nb\n", "a|b"},
		{"the last of many", "a\nb\nc\nd\n", "b|c|d"},
		{"a last word without a line end", "a\nb", "a|b"},
		{"no empty lines", "a\n\n\r\nb\r\n\n\n", "a|b"},
		{"a long line by its beginning", strings.Repeat("x", 5000) + "\nb\n", strings.Repeat("x", 1000) + "|b"},
	} {
		var r Tail
		io.WriteString(&r, story.stream)
		if got := strings.Join(r.Lines(3, redact.Secrets{}), "|"); got != story.want {
			t.Errorf("%s: %.80q, want %.80q", story.says, got, story.want)
		}
	}
}

// A secret must not be recognizable because a line was cut in it.
func TestSecretsAreHiddenWhereLinesAreCut(t *testing.T) {
	t.Parallel()
	const secret = "correct-horsé-battery-staple"
	secrets := redact.KnownSecrets(secret)
	for before := maxLineBytes - len(secret); before < maxLineBytes-4; before++ {
		line := strings.Repeat(".", before) + secret + " and more"
		var r Tail
		io.WriteString(&r, line+"\n")
		if got := r.Lines(1, secrets); strings.Contains(got[0], "corr") {
			t.Errorf("stderr, %d bytes before it: %q", before, got[0][before:])
		}
	}
	r := NewRecord(silent{}, io.Discard)
	r.Secrets = secrets
	r.Stray([]byte(strings.Repeat(".", maxStrayBytes-10) + secret))
	if got := r.Strays()[0]; len(got) > maxStrayBytes+20 || strings.Contains(got, "corr") {
		t.Errorf("stdout: %q", got)
	}
}

// silent is a Reader that ignores lines.
type silent struct{ Reader }

func (silent) Stray([]byte) {}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	var r Tail
	for i := range 10_000 {
		fmt.Fprintf(&r, "%0100d line %d\n", 0, i)
		if len(r.kept) > 2*maxRingBytes || cap(r.kept) > 4*maxRingBytes {
			t.Fatalf("%d bytes kept in %d", len(r.kept), cap(r.kept))
		}
	}
	if got := r.Lines(1, redact.Secrets{}); len(got) != 1 || !strings.HasSuffix(got[0], "line 9999") {
		t.Errorf("%q", got)
	}
	// One write larger than the ring is no exception.
	r.Write(bytes.Repeat([]byte("x"), 10*maxRingBytes))
	if len(r.kept) > 2*maxRingBytes {
		t.Errorf("%d bytes kept", len(r.kept))
	}
}

func TestWhatWasWrittenSinceATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Tail
		r.Write([]byte("before\n"))
		time.Sleep(time.Second)
		since := time.Now()
		if got := r.Since(since, 100); len(got) > 0 {
			t.Errorf("%q", got)
		}
		r.Write([]byte("first\n"))
		time.Sleep(time.Second)
		r.Write([]byte("second\n"))
		if got := string(r.Since(since, 100)); got != "first\nsecond\n" {
			t.Errorf("%q", got)
		}
		if got := string(r.Since(since, 4)); got != "ond\n" {
			t.Errorf("%q", got)
		}
		for range maxMarks {
			r.Write([]byte("x"))
		}
		if got := string(r.Since(since, 1000)); got != strings.Repeat("x", maxMarks) {
			t.Errorf("%q", got)
		}
		r.Write(bytes.Repeat([]byte("y"), 3*maxRingBytes)) // what is not kept is not returned
		if got := r.Since(since, 10*maxRingBytes); len(got) != maxRingBytes {
			t.Errorf("%d bytes", len(got))
		}
	})
}

func TestStraysAreKeptAsEvidence(t *testing.T) {
	t.Parallel()
	var s strays
	for i := range 100 {
		s.add(fmt.Sprintf("line %d %s", i, strings.Repeat("x", 190)))
	}
	if len(s.lines) != 20 || !strings.HasPrefix(s.lines[19], "line 19 ") {
		t.Errorf("%d kept", len(s.lines))
	}
}
