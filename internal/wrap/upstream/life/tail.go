package life

import (
	"bytes"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Tail keeps the last bytes of a stream. It grows as needed.
type Tail struct {
	mu   sync.Mutex
	kept []byte
	last time.Time

	total int64          // bytes ever written
	marks [maxMarks]mark // of the last writes, at number % maxMarks
	count int            // of writes
}

// mark is when a write began, and how much was written before.
type mark struct {
	at    time.Time
	total int64
}

const maxMarks = 64

const maxRingBytes = 256 << 10

func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	t.marks[t.count%maxMarks] = mark{t.last, t.total}
	t.count++
	t.total += int64(len(b))
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*maxRingBytes {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxRingBytes:]...)
	}
	return len(b), nil
}

// Lines returns at most n of the last lines. In lines that are cut, secrets are hidden.
func (t *Tail) Lines(n int, secrets redact.Secrets) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := bytes.TrimRight(t.kept[max(0, len(t.kept)-maxRingBytes):], "\r\n")
	var lines []string
	for len(kept) > 0 && len(lines) < n {
		at := bytes.LastIndexByte(kept, '\n')
		line := bytes.TrimRight(kept[at+1:], "\r")
		if len(line) > 0 {
			lines = append(lines, beginning(line, maxLineBytes, secrets))
		}
		kept = kept[:max(at, 0)]
	}
	slices.Reverse(lines)
	return lines
}

// beginning returns at most n bytes of a line. If it is cut, secrets are hidden, also one that is cut.
func beginning(line []byte, n int, secrets redact.Secrets) string {
	if len(line) <= n {
		return string(line)
	}
	return secrets.RedactPart(string(wholeRunes(line[:n])))
}

// wholeRunes returns b without an incomplete character at its end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// Since returns what was written after a time: at most the last n bytes of the last maxMarks writes.
func (t *Tail) Since(at time.Time, n int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.total
	for i := t.count - 1; i >= max(0, t.count-maxMarks) && !t.marks[i%maxMarks].at.Before(at); i-- {
		from = t.marks[i%maxMarks].total
	}
	size := min(t.total-from, int64(n), int64(len(t.kept)))
	return bytes.Clone(t.kept[int64(len(t.kept))-size:])
}

// Tail returns a copy of the last n bytes.
func (t *Tail) Tail(n int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept[max(0, len(t.kept)-n):])
}

// LastWrite returns when something was last written.
func (t *Tail) LastWrite() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}
