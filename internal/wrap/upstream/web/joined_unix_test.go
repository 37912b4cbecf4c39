//go:build unix

package web

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// writes records each write to a connection.
type writes struct {
	net.Conn
	all  []string
	room int // then it fails
}

func (w *writes) Write(b []byte) (int, error) {
	n := min(len(b), w.room)
	w.all, w.room = append(w.all, string(b[:n])), w.room-n
	if n < len(b) {
		return n, errors.New("full")
	}
	return n, nil
}

func TestAHeaderIsWrittenWithItsBody(t *testing.T) {
	const post, get = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	const expecting = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
	const empty = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
	for _, test := range []struct{ name, given, written string }{
		{"a body", post + "|{}", post + "{}"},
		{"two requests", post + "|{}|" + post + "|[]", post + "{}|" + post + "[]"},
		{"the rest of a body", post + "|{|}", post + "{|}"},
		{"no body", get, get},
		{"a body that waits for the server", expecting + "|{}", expecting + "|{}"},
		{"an empty body", empty, empty},
		{"a header with its body", post + "{}", post + "{}"},
	} {
		to := &writes{room: 1 << 20}
		c := &watchedConn{Conn: to, breaks: new(atomic.Int64)}
		for b := range strings.SplitSeq(test.given, "|") {
			if n, err := c.Write([]byte(b)); n != len(b) || err != nil {
				t.Errorf("%s: wrote %d of %d, %v", test.name, n, len(b), err)
			}
		}
		if want := strings.Split(test.written, "|"); !slices.Equal(to.all, want) {
			t.Errorf("%s: wrote %q", test.name, to.all)
		}
	}
}

func TestAFailedWriteOfBothIsOneOfTheBody(t *testing.T) {
	const header = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n"
	for room, want := range map[int]int{0: 0, len(header) - 1: 0, len(header): 0, len(header) + 1: 1} {
		c := &watchedConn{Conn: &writes{room: room}, breaks: new(atomic.Int64)}
		c.Write([]byte(header))
		if n, err := c.Write([]byte("{}")); n != want || err == nil || !c.writeFailed.Load() {
			t.Errorf("room for %d: wrote %d, %v", room, n, err)
		}
	}
}
