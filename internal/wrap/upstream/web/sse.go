package web

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"
)

// sseEvent is one event of a stream. Its data is valid until the next.
type sseEvent struct {
	name  string
	id    string
	hasID bool
	retry time.Duration // 0 if not given
	data  []byte
}

// sseReader reads a stream of server-sent events as the WHATWG standard specifies.
type sseReader struct {
	r       *bufio.Reader
	begun   bool
	data    []byte
	long    []byte // a line that is longer than the buffer
	skipLF  bool   // the last line ended with CR
	limit   int    // for the bytes of an event
	already int    // bytes of the current event
}

// errEventTooLong reports an event, or a line of one, that is longer than any message.
var errEventTooLong = errors.New("an event exceeds the message size limit")

// newSSEReader returns a reader of events of at most limit bytes, with a buffer of size bytes.
func newSSEReader(r io.Reader, size, limit int) *sseReader {
	return &sseReader{r: bufio.NewReaderSize(r, size), limit: limit}
}

// callReaders keeps the readers of calls that have ended: their buffers are larger than most responses.
var callReaders = sync.Pool{New: func() any { return newSSEReader(nil, callBuffer, 0) }}

// maxKeptBytes is how much a reader may keep for the next call.
const maxKeptBytes = 64 << 10

// readCall calls f with a reader of the events of a call's response.
func readCall(r io.Reader, limit int, f func(*sseReader)) {
	s := callReaders.Get().(*sseReader)
	s.r.Reset(r)
	*s = sseReader{r: s.r, data: s.data, long: s.long, limit: limit}
	f(s)
	s.r.Reset(nil)
	s.data, s.long = emptied(s.data, maxKeptBytes), emptied(s.long, maxKeptBytes)
	callReaders.Put(s)
}

// emptied returns b without its bytes, and nil if it has room for more than most.
func emptied(b []byte, most int) []byte {
	if cap(b) > most {
		return nil
	}
	return b[:0]
}

// Buffer sizes of streams. Those of calls are short-lived and carry responses; the standing streams
// are idle most of the time.
const (
	callBuffer     = 8 << 10
	standingBuffer = 1 << 10
)

// next returns the next event that has any field. An event that the end of the stream cuts off is
// dropped.
func (s *sseReader) next() (e sseEvent, err error) {
	s.data, s.already = emptied(s.data, 1<<20), 0
	hasField, lines := false, 0
	for {
		line, err := s.line()
		if err != nil {
			return e, err
		}
		if len(line) == 0 {
			if hasField {
				e.data = s.data
				return e, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "data":
			if lines++; lines > 1 {
				s.data = append(s.data, '\n')
			}
			s.data = append(s.data, value...)
			hasField = true
		case "event":
			e.name = string(value)
			hasField = true
		case "id":
			if !bytes.Contains(value, []byte{0}) {
				e.id, e.hasID = string(value), true
				hasField = true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
				hasField = true
			}
		}
	}
}

// line reads to the next CR, LF or CRLF. The slice is valid until the next read.
func (s *sseReader) line() ([]byte, error) {
	s.long = emptied(s.long, 1<<20)
	for {
		if s.skipLF {
			b, err := s.r.Peek(1)
			if err != nil {
				return nil, err
			}
			if s.skipLF = false; b[0] == '\n' {
				s.r.Discard(1)
			}
		}
		first, err := s.r.Peek(1)
		if err != nil {
			return nil, err
		}
		if !s.begun {
			s.begun = true
			if first[0] == 0xEF {
				if b, _ := s.r.Peek(3); string(b) == "\ufeff" {
					s.r.Discard(3)
					continue
				}
			}
		}
		window, _ := s.r.Peek(s.r.Buffered())
		at := bytes.IndexAny(window, "\r\n")
		n := at
		if at < 0 {
			n = len(window)
		}
		if s.already += n; s.already > s.limit {
			return nil, errEventTooLong
		}
		if at < 0 {
			s.long = append(s.long, window...)
			s.r.Discard(n)
			continue
		}
		s.skipLF = window[at] == '\r'
		line := window[:at]
		if len(s.long) > 0 {
			s.long = append(s.long, line...)
			line = s.long
		}
		s.r.Discard(at + 1)
		return line, nil
	}
}
