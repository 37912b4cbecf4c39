package upstream

import (
	"io"
	"strings"
	"testing"
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
