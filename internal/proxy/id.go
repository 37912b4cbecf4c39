package proxy

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// The ids under which requests go to a server, and a server's own requests go
// to the client, are made and read here and nowhere else. Those towards a
// server are integers, because some servers accept nothing else. A number is
// never used twice in a session, so an answer of an earlier process finds no
// call. Streams get such an id like any other request, and what a server says
// about them gets the client's back: the client's numbers and ours never meet.

// RandomID returns a number to count ids from that cannot be guessed: clients
// that share a server must not be able to name each other's requests. It is
// below 1<<51, so that ids stay exact where numbers are floating point.
func RandomID() uint64 {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return 1<<50 + binary.BigEndian.Uint64(random[:])>>14
}

// nextID returns the number of the next id. The caller holds the lock.
func (s *Session) nextID() uint64 {
	s.lastID++
	return s.lastID
}

// questionID returns the id under which a request of the server's goes to the
// client. The caller holds the lock.
func (s *Session) questionID(generation int) []byte {
	return fmt.Appendf(nil, `"g%d-s%d"`, generation, s.nextID())
}

// AppendID appends the id with this number, as JSON.
func AppendID(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// idPattern is a regular expression for what parseID reads, and a little more.
const idPattern = `"?[1-9][0-9]*(?:\.0)?"?`

// parseID reads an id that AppendID wrote and a server sent back.
func parseID(raw []byte) (n uint64, ok bool) {
	raw = wire.PlainID(raw)
	if len(raw) == 0 || len(raw) > 19 || raw[0] == '0' {
		return 0, false
	}
	for _, digit := range raw {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + uint64(digit-'0')
	}
	return n, true
}

// subscription finds the open stream that the server calls id; nil: none. The
// caller holds the lock.
func (s *Session) subscription(conn *upstream.Conn, id []byte) *call {
	n, ok := parseID(id)
	if c := s.opened[n]; ok && c != nil && c.conn == conn {
		return c
	}
	return nil
}

// forListener puts the client's id of a stream into a notification that names
// the stream. It returns nil if no such stream is open: nobody listens. The
// caller holds the lock.
func (s *Session) forListener(conn *upstream.Conn, m *wire.Message) *wire.Message {
	if len(s.opened) == 0 && !s.memory.modern {
		return m // no other era has streams
	}
	id := subscriptionOf(m.Params)
	if c := s.subscription(conn, id); c != nil {
		return readdressed(m, id, c.id)
	}
	if _, ours := parseID(id); ours {
		return nil
	}
	return m
}

// endOfStream puts the client's id into the result that ends a stream, which
// names the stream a second time.
func endOfStream(c *call, m *wire.Message) *wire.Message {
	id := subscriptionOf(m.Result)
	if n, ok := parseID(id); ok && n == c.n {
		return readdressed(m, id, c.id)
	}
	return m
}

// readdressed returns the message with another id in the place of old.
func readdressed(m *wire.Message, old, id []byte) *wire.Message {
	changed, _, err := wire.Scan(wire.Replace(nil, m.Raw, wire.Edit{Old: old, New: id}))
	if err != nil {
		return m // cannot happen: one JSON value was replaced by another
	}
	changed.Via, changed.Status = m.Via, m.Status
	return &changed
}
