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

// add takes a line that is no message. It returns the whole text once its last
// line came, and the lines that turned out to be no part of one.
func (j *joiner) add(line []byte) (whole []byte, strays [][]byte) {
	begins := string(bytes.TrimSpace(line)) == "{"
	if begins && line[0] == '{' || len(j.lines) >= joinLines || j.size > joinBytes {
		strays = j.giveUp() // what began before has no end
	}
	if !j.open() && !begins {
		return nil, append(strays, line)
	}
	j.lines = append(j.lines, bytes.Clone(line))
	j.size += len(line)
	if line[0] == '}' {
		whole = bytes.Join(j.lines, []byte(" ")) // a line end would end the message for the next reader
	}
	return whole, strays
}

// giveUp forgets what was collected and returns it.
func (j *joiner) giveUp() (strays [][]byte) {
	strays = j.lines
	j.lines, j.size = nil, 0
	return strays
}
