package wire

import "bytes"

// Without returns a copy of an object without one of its values, which Field returned, and its key.
func Without(object, value []byte) []byte {
	const space = " \t\r\n"
	at := cap(object) - cap(value)
	from := bytes.LastIndexByte(object[:at], '"')         // end of the key
	from = bytes.LastIndexByte(object[:from], '"')        // start of the key
	rest := bytes.TrimLeft(object[at+len(value):], space) // a comma or the brace
	head := object[:from]
	if rest[0] == ',' {
		rest = bytes.TrimLeft(rest[1:], space)
	} else {
		head = bytes.TrimSuffix(bytes.TrimRight(head, space), []byte{','})
	}
	return append(bytes.Clone(head), rest...)
}
