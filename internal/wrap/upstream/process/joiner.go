package process

import "bytes"

// joiner reassembles a pretty-printed message. A server that prints JSON over several lines
// violates the framing, but its meaning is clear. The message begins with a line that is only an
// opening brace and ends with one that is only a closing brace.
type joiner struct {
	lines [][]byte
	size  int
}

const (
	maxJoinLines = 10_000
	maxJoinBytes = 4 << 20
)

func (j *joiner) open() bool { return len(j.lines) > 0 }

// add adds a line that is not a message. It returns the whole message after its last line, and the
// lines that turned out not to be part of one.
func (j *joiner) add(line []byte) (whole []byte, strays [][]byte) {
	begins := string(bytes.TrimSpace(line)) == "{"
	if begins && line[0] == '{' || len(j.lines) >= maxJoinLines || j.size > maxJoinBytes {
		strays = j.giveUp() // what was begun before has no end
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

// giveUp drops the collected lines and returns them.
func (j *joiner) giveUp() (strays [][]byte) {
	strays = j.lines
	j.lines, j.size = nil, 0
	return strays
}
