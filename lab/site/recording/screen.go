package main

import (
	"slices"
	"strings"
	"sync"
)

// columns is the width of the terminal.
const columns = 80

// line is one row of the terminal.
type line struct {
	typed bool // typed means that it is a command, without its prompt.
	spans []span
}

// span is a part of a row in one style, a parameter of SGR.
type span struct{ text, style string }

// text returns the row without its styles.
func (l line) text() string {
	var b strings.Builder
	for _, s := range l.spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// screen collects what a terminal shows. It knows as much as gauze needs: colors, and rows that are
// written again. Of these the last state counts, so progress that was overwritten is not shown.
type screen struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each new row
	rows    []line
	cells   []cell // the row that is being written
	at      int    // the column of the cursor
	style   string
	rest    string // a sequence that has not ended yet
}

type cell struct {
	char  rune
	style string
}

func newScreen() *screen { return &screen{changed: make(chan struct{})} }

// typed adds a row with a command.
func (s *screen) typed(command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(line{typed: true, spans: []span{{text: command}}})
}

// Write takes output.
func (s *screen) Write(output []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.rest + string(output)
	s.rest = ""
	for text != "" {
		if incomplete(text) {
			s.rest = text
			break
		}
		text = s.take(text)
	}
	return len(output), nil
}

// incomplete reports whether text is the beginning of a sequence or of a character.
func incomplete(text string) bool {
	if text[0] == '\x1b' {
		return len(text) < 3 || !strings.ContainsFunc(text[2:], final)
	}
	return !strings.ContainsRune(text[:min(len(text), 4)], '\n') && len(text) < 4 && strings.ToValidUTF8(text, "") == ""
}

// final reports whether a character ends a control sequence.
func final(r rune) bool { return '@' <= r && r <= '~' }

// take handles one character or sequence, and returns the rest.
func (s *screen) take(text string) string {
	if sequence, found := strings.CutPrefix(text, "\x1b["); found {
		end := strings.IndexFunc(sequence, final)
		s.control(sequence[:end], sequence[end])
		return sequence[end+1:]
	}
	char := []rune(text[:min(len(text), 4)])[0]
	switch char {
	case '\n':
		s.flush()
	case '\r':
		s.at = 0
	default:
		s.put(char)
	}
	return text[len(string(char)):]
}

// control handles a control sequence: styles, and clearing the rest of the row.
func (s *screen) control(parameter string, kind byte) {
	switch kind {
	case 'm':
		if s.style = parameter; parameter == "0" {
			s.style = ""
		}
	case 'K':
		s.cells = s.cells[:min(s.at, len(s.cells))]
	}
}

func (s *screen) put(char rune) {
	if s.at == columns {
		s.flush()
	}
	for len(s.cells) <= s.at {
		s.cells = append(s.cells, cell{' ', ""})
	}
	s.cells[s.at] = cell{char, s.style}
	s.at++
}

// flush ends the row that is being written.
func (s *screen) flush() {
	var row line
	for _, c := range s.cells {
		if n := len(row.spans); n > 0 && row.spans[n-1].style == c.style {
			row.spans[n-1].text += string(c.char)
		} else {
			row.spans = append(row.spans, span{string(c.char), c.style})
		}
	}
	s.cells, s.at = nil, 0
	s.add(row)
}

func (s *screen) add(row line) {
	s.rows = append(s.rows, row)
	close(s.changed)
	s.changed = make(chan struct{})
}

// shown returns the rows so far, and a channel that is closed when there is one more.
func (s *screen) shown() ([]line, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows), s.changed
}
