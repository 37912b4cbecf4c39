package wire

import "bytes"

// Walk calls visit for every string in JSON text that Scan returned, including
// keys, in order. raw is the string with its quotes and at its offset. path has a
// raw key without quotes for every enclosing object and nil for every array; the
// path of a key is that of its object.
func Walk(text []byte, visit func(path [][]byte, raw []byte, at int, key bool)) {
	var path [][]byte // of the next value
	var open []byte   // the enclosing brackets
	expectsKey := false
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '{', '[':
			open = append(open, c)
			path = append(path, nil)
			expectsKey = c == '{'
		case '}', ']':
			open = open[:len(open)-1]
			path = path[:len(path)-1]
			expectsKey = false
		case ',':
			expectsKey = len(open) > 0 && open[len(open)-1] == '{'
		case '"':
			end := skipString(text, i)
			raw := text[i:end]
			if expectsKey {
				visit(path[:len(path)-1], raw, i, true)
				path[len(path)-1] = raw[1 : len(raw)-1]
				expectsKey = false
			} else {
				visit(path, raw, i, false)
			}
			i = end
			continue
		default:
			// Skip numbers and literals.
			if n := bytes.IndexAny(text[i:], `"{}[],`); n > 0 {
				i += n
				continue
			}
		}
		i++
	}
}
