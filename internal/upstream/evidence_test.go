package upstream

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRingKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	for _, story := range []struct{ says, stream, want string }{
		{"nothing of nothing", "", ""},
		{"all of a few", "a\nb\n", "a|b"},
		{"the last of many", "a\nb\nc\nd\n", "b|c|d"},
		{"a last word without a line end", "a\nb", "a|b"},
		{"no empty lines", "a\n\n\r\nb\r\n\n\n", "a|b"},
		{"a long line by its beginning", strings.Repeat("x", 5000) + "\nb\n", strings.Repeat("x", 1000) + "|b"},
	} {
		var r ring
		io.WriteString(&r, story.stream)
		if got := strings.Join(r.lines(3), "|"); got != story.want {
			t.Errorf("%s: %.80q, want %.80q", story.says, got, story.want)
		}
	}
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	var r ring
	for i := range 10_000 {
		fmt.Fprintf(&r, "%0100d line %d\n", 0, i)
		if len(r.kept) > 2*maxRingBytes || cap(r.kept) > 4*maxRingBytes {
			t.Fatalf("%d bytes kept in %d", len(r.kept), cap(r.kept))
		}
	}
	if got := r.lines(1); len(got) != 1 || !strings.HasSuffix(got[0], "line 9999") {
		t.Errorf("%q", got)
	}
	// One write larger than the ring is no exception.
	r.Write(bytes.Repeat([]byte("x"), 10*maxRingBytes))
	if len(r.kept) > 2*maxRingBytes {
		t.Errorf("%d bytes kept", len(r.kept))
	}
}

// slowReader is an output that takes nothing until it is let go.
type slowReader struct {
	free chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (s *slowReader) Write(b []byte) (int, error) {
	<-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(b)
}

func (s *slowReader) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

func TestRelayPassesOnWhatItGets(t *testing.T) {
	t.Parallel()
	w := &slowReader{free: make(chan struct{})}
	close(w.free)
	r := newRelay(w)
	for i := range 100 {
		fmt.Fprintf(r, "%d ", i)
	}
	r.close()
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintf(&want, "%d ", i)
	}
	if w.String() != want.String() {
		t.Errorf("%q", w.String())
	}
}

func TestRelayNeverWaitsForASlowReaderAndSaysWhatItSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowReader{free: make(chan struct{})}
		r := newRelay(w)
		line := strings.Repeat("x", 1023) + "\n"
		const lines = 10_000
		for range lines {
			io.WriteString(r, line) // must return although nobody reads
		}
		close(w.free)
		r.close()
		<-r.done
		got := w.String()
		if len(got) > 2*relayBuffer+200 {
			t.Errorf("%d bytes were kept for a reader that does not read", len(got))
		}
		skipped := 0
		for _, said := range regexp.MustCompile(`gauze: (\d+) bytes`).FindAllStringSubmatch(got, -1) {
			n, _ := strconv.Atoi(said[1])
			skipped += n
		}
		if passed := strings.Count(got, "x") / 1023 * 1024; passed+skipped != lines*1024 {
			t.Errorf("%d passed and %d skipped of %d", passed, skipped, lines*1024)
		}
	})
}

func TestRelaySlowsAFloodDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowReader{free: make(chan struct{})}
		close(w.free)
		r := newRelay(w)
		began := time.Now()
		line := strings.Repeat("x", 16383) + "\n"
		for time.Since(began) < 10*time.Second {
			for range 20 { // 16 MB a second
				io.WriteString(r, line)
			}
			<-time.After(20 * time.Millisecond) // of the bubble's own clock
			synctest.Wait()
		}
		got := len(w.String())
		if most := relayBurst + 11*relayRate + relayBuffer; got > most {
			t.Errorf("%d bytes in ten seconds, want at most %d", got, most)
		}
		if got < relayBurst {
			t.Errorf("%d bytes in ten seconds: a burst of %d is allowed", got, relayBurst)
		}
		r.close()
		<-r.done
	})
}

func TestRelayDoesNotKeepUsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowReader{free: make(chan struct{})}
		r := newRelay(w)
		io.WriteString(r, "last words")
		began := time.Now()
		r.close()
		if waited := time.Since(began); waited != relayCloseTimeout {
			t.Errorf("waited %v", waited)
		}
		close(w.free)
		<-r.done
	})
}

func TestWhatWasWrittenSinceATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r ring
		r.Write([]byte("before\n"))
		time.Sleep(time.Second)
		since := time.Now()
		if got := r.since(since, 100); len(got) > 0 {
			t.Errorf("%q", got)
		}
		r.Write([]byte("first\n"))
		time.Sleep(time.Second)
		r.Write([]byte("second\n"))
		if got := string(r.since(since, 100)); got != "first\nsecond\n" {
			t.Errorf("%q", got)
		}
		if got := string(r.since(since, 4)); got != "ond\n" {
			t.Errorf("%q", got)
		}
		for range maxMarks {
			r.Write([]byte("x"))
		}
		if got := string(r.since(since, 1000)); got != strings.Repeat("x", maxMarks) {
			t.Errorf("%q", got)
		}
		r.Write(bytes.Repeat([]byte("y"), 3*maxRingBytes)) // what is not kept is not returned
		if got := r.since(since, 10*maxRingBytes); len(got) != maxRingBytes {
			t.Errorf("%d bytes", len(got))
		}
	})
}
