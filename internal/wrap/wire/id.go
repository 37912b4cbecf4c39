package wire

import "bytes"

// PlainID normalizes the id of a response to an integer id: servers that store
// ids as strings or floats return 5 as "5" or 5.0, and clients accept both.
func PlainID(raw []byte) []byte {
	if len(raw) > 2 && raw[0] == '"' && raw[len(raw)-1] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	return bytes.TrimSuffix(raw, []byte(".0"))
}

// SameID reports whether back answers the request with the id sent.
func SameID(sent, back []byte) bool {
	return bytes.Equal(sent, back) || bytes.Equal(sent, PlainID(back))
}
