package wire

import "bytes"

// PlainID returns the id that a server means by what it sent back for an
// integer: one that keeps ids as strings or as floating point writes 5 as "5"
// or 5.0, and clients take both for 5.
func PlainID(raw []byte) []byte {
	if len(raw) > 2 && raw[0] == '"' && raw[len(raw)-1] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	return bytes.TrimSuffix(raw, []byte(".0"))
}

// SameID reports whether back is what a server made of the id sent.
func SameID(sent, back []byte) bool {
	return bytes.Equal(sent, back) || bytes.Equal(sent, PlainID(back))
}
