package life

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

// Line is a line that a server printed, raw.
type Line struct {
	Time   time.Time // when it ended, or when its last byte arrived
	Stdout bool      // it is not a message, but was written to stdout
	Text   string    // at most maxLineBytes of it
	Open   bool      // its end has not arrived
	Cut    bool      // its end is not kept
}

// Output keeps the last lines that a server printed, over all its generations. The zero value is
// ready, and nil keeps nothing.
type Output struct {
	mu    sync.Mutex
	lines []Line
	size  int    // of their texts
	open  []byte // the beginning of a line on stderr
	cut   bool   // open has only a part of what arrived of it
	last  time.Time
}

const (
	maxLines       = 500
	maxLineBytes   = 1000
	maxOutputBytes = 64 << 10
)

// Stderr adds what was written to stderr.
func (o *Output) Stderr(b []byte) {
	if o == nil || len(b) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	for part := range bytes.Lines(b) {
		ends := part[len(part)-1] == '\n'
		part = bytes.TrimRight(part, "\n")
		room := maxLineBytes - len(o.open)
		o.open = append(o.open, part[:min(len(part), room)]...)
		o.cut = o.cut || len(part) > room
		if ends {
			o.end()
		}
	}
}

// Stdout adds a line on stdout that is not a message.
func (o *Output) Stdout(line []byte) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	line = bytes.TrimRight(line, "\r\n")
	o.add(Line{Time: time.Now(), Stdout: true, Text: text(line), Cut: len(line) > maxLineBytes})
}

// End ends a line that has no end: its process has exited.
func (o *Output) End() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
}

// end adds the open line.
func (o *Output) end() {
	if line := text(o.open); line != "" {
		o.add(Line{Time: o.last, Text: line, Cut: o.cut})
	}
	o.open, o.cut = o.open[:0], false
}

// add adds a line, and drops the oldest ones that are too many.
func (o *Output) add(line Line) {
	o.lines = append(o.lines, line)
	o.size += len(line.Text)
	drop := 0
	for len(o.lines)-drop > maxLines || o.size > maxOutputBytes {
		o.size -= len(o.lines[drop].Text)
		drop++
	}
	o.lines = slices.Delete(o.lines, 0, drop)
}

// text returns what is kept of a line, without its end.
func text(line []byte) string {
	return string(bytes.TrimRight(wholeRunes(line[:min(len(line), maxLineBytes)]), "\r\n"))
}

// Lines returns what is kept, oldest first.
func (o *Output) Lines() []Line {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := slices.Clone(o.lines)
	if line := text(o.open); line != "" {
		lines = append(lines, Line{Time: o.last, Text: line, Open: true, Cut: o.cut})
	}
	return lines
}
