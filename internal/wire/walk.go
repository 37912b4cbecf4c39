package wire

import "bytes"

// Walk calls visit with every string of a JSON text that came out of Scan, keys included, in order:
// raw is the string with its quotes, at its place in the text. The path leads from the text to the
// string: a raw key without quotes for every object, nil for every array. A key's path is that of
// its object. Walk reads the text once, however deep it is.
func Walk(text []byte, visit func(path [][]byte, raw []byte, at int, key bool)) {
	var path [][]byte // of the value that comes next
	var open []byte   // the brackets around it
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
			// Numbers and words: nothing in them matters.
			if n := bytes.IndexAny(text[i:], `"{}[],`); n > 0 {
				i += n
				continue
			}
		}
		i++
	}
}
