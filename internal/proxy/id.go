package proxy

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// The ids under which requests go to a server, and a server's own requests go
// to the client, are made and read here and nowhere else.

// RandomID returns a number to count ids from that cannot be guessed: clients
// that share a server must not be able to name each other's requests. It is
// below 1<<52, so that ids stay exact where numbers are floating point.
func RandomID() uint64 {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return 1<<51 + binary.BigEndian.Uint64(random[:])>>13
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

// appendID writes g<generation>-<n> as a JSON string.
func appendID(b []byte, generation int, n uint64) []byte {
	b = append(b, '"', 'g')
	b = strconv.AppendInt(b, int64(generation), 10)
	b = append(b, '-')
	b = strconv.AppendUint(b, n, 10)
	return append(b, '"')
}

// parseID reads what appendID wrote, and nothing else.
func parseID(raw []byte) (generation int, n uint64, ok bool) {
	if len(raw) < 6 || raw[0] != '"' || raw[1] != 'g' || raw[len(raw)-1] != '"' {
		return 0, 0, false
	}
	first, second, ok := bytes.Cut(raw[2:len(raw)-1], []byte{'-'})
	if !ok {
		return 0, 0, false
	}
	g, ok := parseNumber(first)
	n, okToo := parseNumber(second)
	return int(g), n, ok && okToo && g <= math.MaxInt32
}

// parseNumber reads a number from 1 as strconv writes it.
func parseNumber(digits []byte) (n uint64, ok bool) {
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' {
		return 0, false
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + uint64(digit-'0')
	}
	return n, true
}
