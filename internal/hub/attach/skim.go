package attach

import "bytes"

// skim finds the messages in a stream while it passes in pieces. It keeps only ids and methods, so
// that a message of any length takes no memory. A message is on one line; a batch is an array of them.
type skim struct {
	depth, base int // how deep the text is nested, and how deep the members of a message are
	text        bool
	escaped     bool
	word        []byte  // the string or number that is being read, with its quotes
	keys        [2]name // the member of the message that is being read, and the member of its params
	found       message
}

// message is what skim finds of a message.
type message struct {
	id, method, cancelled []byte // as they are written; valid until the next call
}

// maxWord is how much is kept of a word: ids are shorter.
const maxWord = 1 << 10

// name is a member that skim reads.
type name byte

const (
	otherName name = iota
	idName
	methodName
	paramsName
	requestIDName
)

func nameOf(word []byte) name {
	switch string(word) {
	case `"id"`:
		return idName
	case `"method"`:
		return methodName
	case `"params"`:
		return paramsName
	case `"requestId"`:
		return requestIDName
	}
	return otherName
}

// feed reads a piece of the stream and calls each for every message that ends in it.
func (s *skim) feed(p []byte, each func(message)) {
	for len(p) > 0 {
		if s.text {
			p = p[s.readText(p):]
			continue
		}
		c := p[0]
		p = p[1:]
		switch c {
		case '\n':
			*s = skim{word: s.word[:0], found: s.found.empty()}
		case '"':
			s.text, s.word = true, append(s.word[:0], c)
		case '{', '[':
			s.open(c)
		case '}', ']':
			s.close(c, each)
		case ':':
			if level := s.level(); level >= 0 {
				s.keys[level] = nameOf(s.word)
			}
			s.word = s.word[:0]
		case ',':
			s.value()
		case ' ', '\t', '\r':
		default:
			s.keep(c)
		}
	}
}

// readText reads the rest of a string, and returns how long it is. A line ends even there.
func (s *skim) readText(p []byte) int {
	if s.escaped {
		s.escaped = false
		s.keep(p[0])
		return 1
	}
	end := bytes.IndexAny(p, "\"\\\n")
	if end < 0 {
		s.keep(p...)
		return len(p)
	}
	if p[end] == '\n' {
		s.text = false
		return end
	}
	s.keep(p[:end+1]...)
	s.text, s.escaped = p[end] == '\\', p[end] == '\\'
	return end + 1
}

// keep adds to the word, where words matter.
func (s *skim) keep(p ...byte) {
	if s.level() >= 0 {
		s.word = append(s.word, p[:min(len(p), maxWord-len(s.word))]...)
	}
}

// level returns 0 in a message, 1 in its members, and -1 elsewhere.
func (s *skim) level() int {
	if level := s.depth - s.base; s.base > 0 && level >= 0 && level < len(s.keys) {
		return level
	}
	return -1
}

func (s *skim) open(c byte) {
	if s.depth == 0 {
		s.base = 1
		if c == '[' {
			s.base = 2
		}
	}
	s.depth++
	if level := s.level(); level >= 0 {
		s.keys[level] = otherName
	}
	s.word = s.word[:0]
}

// value takes the word as the value of the member that is being read.
func (s *skim) value() {
	level := s.level()
	if level < 0 {
		return
	}
	switch {
	case level == 0 && s.keys[0] == idName:
		s.found.id = append(s.found.id[:0], s.word...)
	case level == 0 && s.keys[0] == methodName:
		s.found.method = append(s.found.method[:0], s.word...)
	case level == 1 && s.keys[0] == paramsName && s.keys[1] == requestIDName:
		s.found.cancelled = append(s.found.cancelled[:0], s.word...)
	}
	s.word, s.keys[level] = s.word[:0], otherName
}

func (s *skim) close(c byte, each func(message)) {
	s.value()
	if s.level() == 0 && c == '}' {
		each(s.found)
		s.found = s.found.empty()
	}
	s.depth = max(s.depth-1, 0)
	s.word = s.word[:0]
}

// empty returns a message without content that uses the same memory.
func (m message) empty() message { return message{m.id[:0], m.method[:0], m.cancelled[:0]} }
