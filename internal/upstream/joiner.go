package upstream

import "bytes"

// joiner puts a pretty-printed message together again: a server that prints
// its JSON over several lines violates the framing, but its meaning is plain.
// It begins with a line that is only an opening brace and ends with one that
// is only a closing brace.
type joiner struct {
	lines [][]byte
	size  int
}

const (
	joinLines = 10_000
	joinBytes = 4 << 20
)

func (j *joiner) open() bool { return len(j.lines) > 0 }

// add returns the whole text once its last line came.
func (j *joiner) add(line []byte) []byte {
	trimmed := bytes.TrimSpace(line)
	switch {
	case !j.open() && string(trimmed) != "{":
		return nil
	case len(j.lines) >= joinLines || j.size > joinBytes:
		return nil
	}
	j.lines = append(j.lines, bytes.Clone(line))
	j.size += len(line)
	if line[0] != '}' || len(j.lines) < 2 {
		return nil
	}
	return bytes.Join(j.lines, []byte("\n"))
}

// giveUp forgets what was collected. If it did not become a message, the
// lines were stray after all.
func (j *joiner) giveUp(message bool) (strays [][]byte) {
	if !message && len(j.lines) > 1 {
		strays = j.lines[:len(j.lines)-1]
	}
	j.lines, j.size = nil, 0
	return strays
}
