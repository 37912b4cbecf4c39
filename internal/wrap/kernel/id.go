package kernel

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// The ids of requests to a server, and of a server's own requests to the client, are made and read
// in this file only. Those to a server are integers, because some servers accept nothing else. A
// number is never used twice in a session, so an answer of an earlier process matches no call.
// Streams get such an id as well; in what a server says about them it is replaced by the client's.

// ids makes ids.
type ids struct {
	s        *Session
	lastID   uint64
	arrivals uint64 // of calls
	scratch  []byte // for messages that are written with another id
	idBuffer [48]byte
}

// RandomID returns a number to count ids from that cannot be guessed, so that clients that share a
// server cannot name each other's requests. It is below 1<<51: ids stay exact as floating point.
func RandomID() uint64 {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return 1<<50 + binary.BigEndian.Uint64(random[:])>>14
}

// nextID returns the number of the next id. The caller holds the lock.
func (i *ids) nextID() uint64 {
	i.lastID++
	return i.lastID
}

// questionID returns a new id for a request from the server to the client. The caller holds the lock.
func (i *ids) questionID(generation int) []byte {
	return fmt.Appendf(nil, `"g%d-s%d"`, generation, i.nextID())
}

// IsOwnQuestion reports whether a request to the client with this raw id is one of gauze's own, about the request that
// Told.About names, and not the server's, whose request is inferred.
func IsOwnQuestion(id []byte) bool { return bytes.HasPrefix(id, []byte(`"g0-`)) }

// AppendID appends the id with number n as JSON.
func AppendID(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// idPattern is a regular expression that matches what parseID reads, and a little more.
const idPattern = `"?[1-9][0-9]*(?:\.0)?"?`

// parseID parses an id that AppendID wrote and a server sent back.
func parseID(raw []byte) (n uint64, ok bool) {
	return plainNumber(wire.PlainID(raw))
}

// plainNumber parses a positive number that can be written in one way only.
func plainNumber(raw []byte) (n uint64, ok bool) {
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

// subscription returns the open stream with this id of ours; nil: none. The caller holds the lock.
func (v *server) subscription(conn *upstream.Conn, id []byte) *Call {
	n, ok := parseID(id)
	if c := v.s.table.opened[n]; ok && c != nil && c.conn == conn {
		return c
	}
	return nil
}

// forListener puts the client's id of a stream into a notification that names the stream. It
// returns nil if no such stream is open. The caller holds the lock.
func (v *server) forListener(conn *upstream.Conn, m *wire.Message) *wire.Message {
	if len(v.s.table.opened) == 0 && !v.s.memory.modern {
		return m // only the modern era has streams
	}
	id := subscriptionOf(m.Params)
	if c := v.subscription(conn, id); c != nil {
		return readdressed(m, id, c.id)
	}
	if _, ours := parseID(id); ours {
		return nil
	}
	return m
}

// endOfStream puts the client's id into the result that ends a stream, which repeats the id.
func endOfStream(c *Call, m *wire.Message) *wire.Message {
	id := subscriptionOf(m.Result)
	if n, ok := parseID(id); ok && n == c.n {
		return readdressed(m, id, c.id)
	}
	return m
}

// readdressed returns the message with old replaced by id.
func readdressed(m *wire.Message, old, id []byte) *wire.Message {
	changed, _, err := wire.Scan(wire.Replace(nil, m.Raw, wire.Edit{Old: old, New: id}))
	if err != nil {
		return m // cannot happen: one JSON value was replaced by another
	}
	changed.Via, changed.Status = m.Via, m.Status
	return &changed
}
