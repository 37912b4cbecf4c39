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

// relayed is what reaches our stderr of what a server wrote, piece by piece.
func relayed(pieces ...string) string {
	w := &slowReader{free: make(chan struct{})}
	r := newRelay(w)
	for _, piece := range pieces {
		io.WriteString(r, piece)
	}
	close(w.free)
	r.close()
	<-r.done
	return w.String()
}

func TestServerCannotWriteLinesInOurName(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"gauze: the server is back\n":           "server: gauze: the server is back\n",
		"hello\nGauze: next try in 5s\nbye\n":   "hello\nserver: Gauze: next try in 5s\nbye\n",
		"\x1b[1m gauze: bold\n":                 "\x1b[1m server: gauze: bold\n",
		"50%\rgauze: over the last line\n":      "50%\rserver: gauze: over the last line\n",
		"gauze: one\ngauze: two\n":              "server: gauze: one\nserver: gauze: two\n",
		"a word about gauze: nothing changes\n": "a word about gauze: nothing changes\n",
		"ends inside of one: \nga":              "ends inside of one: \nga",
	} {
		if got := relayed(said); got != want {
			t.Errorf("%q became %q, want %q", said, got, want)
		}
	}
}

// However the bytes are cut, a mark is found at the start of a line.
func TestServerCannotWriteLinesInOurNamePieceByPiece(t *testing.T) {
	t.Parallel()
	const said, want = "one\n\x1b[31mgauze: two\nthree", "one\n\x1b[31mserver: gauze: two\nthree"
	for cut := 1; cut < len(said); cut++ {
		var out strings.Builder
		d := disowner{w: &out}
		d.Write([]byte(said[:cut]))
		d.Write([]byte(said[cut:]))
		d.flush()
		if out.String() != want {
			t.Errorf("cut at %d: %q", cut, out.String())
		}
	}
}

// A line of ours may end up between two pieces of a server's line.
func TestEveryPieceOfAServersLineMayBeginALine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	d := disowner{w: &out}
	d.Write([]byte("unfinished "))
	d.Write([]byte("gauze: forged\n"))
	if got, want := out.String(), "unfinished server: gauze: forged\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDisownerHoldsBackLittle(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	d := disowner{w: &out}
	for range 100 {
		d.Write([]byte("g" + strings.Repeat("\u200b", 1000)))
	}
	if len(d.held) > maxHeldMark {
		t.Errorf("%d bytes are held back", len(d.held))
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
