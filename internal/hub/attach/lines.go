package attach

import (
	"bytes"
	"io"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// relayBuffer is how much is read at a time.
const relayBuffer = 32 << 10

// lines reads whole lines, so that a message is passed on either whole or not at all.
type lines struct {
	from io.Reader
	buf  []byte
	used int // bytes of buf that next has returned
	full int // bytes of buf that were read
	err  error
}

// next returns all lines that have arrived, at least one, valid until the next call. With the error of the
// reader it returns what follows the last newline. A line that is longer than any message may be comes in pieces.
func (l *lines) next() ([]byte, error) {
	l.full = copy(l.buf, l.buf[l.used:l.full])
	l.used = 0
	if l.full == 0 && len(l.buf) != relayBuffer {
		l.buf = make([]byte, relayBuffer) // release what one huge message needed
	}
	for l.err == nil {
		if l.full == len(l.buf) {
			l.buf = append(l.buf, make([]byte, len(l.buf))...)
		}
		var n int
		n, l.err = l.from.Read(l.buf[l.full:])
		l.full += n
		if end := bytes.LastIndexByte(l.buf[l.full-n:l.full], '\n'); end >= 0 {
			l.used = l.full - n + end + 1
			return l.buf[:l.used], nil
		}
		if l.full > wire.MaxLine {
			break
		}
	}
	l.used = l.full
	return l.buf[:l.used], l.err
}

// spoken is a message in a text of whole lines.
type spoken struct {
	wire.Message
	end int // of its line
}

// scan returns the messages of a text. Of what is not a valid message, only the id is known.
func scan(text []byte) (all []spoken) {
	end := 0
	for line := range bytes.Lines(text) {
		end += len(line)
		line = bytes.TrimSpace(wire.WithoutMark(line))
		if len(line) == 0 {
			continue
		}
		messages, ok := wire.ScanLine(nil, line)
		if !ok {
			messages = []wire.Message{{ID: wire.LooseID(line)}}
		}
		for _, m := range messages {
			all = append(all, spoken{m, end})
		}
	}
	return all
}
