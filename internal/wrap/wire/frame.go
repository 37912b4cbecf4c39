package wire

import (
	"bytes"
	"fmt"
	"io"
)

// MaxLine is the default limit for the length of a message. It bounds memory.
const MaxLine = 256 << 20

// Reader splits a stream into lines. A line over the limit is skipped in constant
// memory and reported as *TooLong; reading continues after it.
type Reader struct {
	src        io.Reader
	limit      int
	buf        []byte
	from       int  // start of the unread part of buf
	to         int  // end of it
	seen       int  // the unread part has no newline before this
	inLongLine bool // inside an endless line: what follows belongs to it
	filled     bool // the last read filled the buffer
	err        error
}

const (
	firstBuffer = 8 << 10  // most servers are idle most of the time
	busyBuffer  = 64 << 10 // the capacity of a pipe
	readAtLeast = 4 << 10
)

// NewReader reads lines of at most limit bytes (MaxLine if limit is 0).
func NewReader(src io.Reader, limit int) *Reader {
	if limit == 0 {
		limit = MaxLine
	}
	return &Reader{src: src, limit: limit, buf: make([]byte, firstBuffer)}
}

// TooLong is a line that was skipped because of its length. Head and Tail help to
// find the request that it answers.
type TooLong struct {
	Length     int
	Head, Tail []byte
	Endless    bool // no newline within endlessFactor times the limit
}

func (e *TooLong) Error() string { return fmt.Sprintf("the line is too long: %d bytes", e.Length) }

const (
	maxTooLongKept = 1 << 10
	endlessFactor  = 16 // so much without a newline is not a message
)

// Next returns the next line without its newline, valid until the next call. A
// partial line at the end of the stream is not returned; see Fragment.
func (r *Reader) Next() ([]byte, error) {
	if r.inLongLine {
		if long := r.skip(); long.Endless {
			return nil, long
		}
	}
	for {
		if r.Buffered() && r.seen-r.from <= r.limit {
			line := r.buf[r.from:r.seen]
			r.from = r.seen + 1
			r.seen = r.from
			return trim(line), nil
		}
		if r.to-r.from > r.limit {
			return nil, r.skip()
		}
		if r.err != nil {
			return nil, r.err
		}
		r.makeRoom()
		r.fill()
	}
}

// Fragment returns the number of bytes after the last newline.
func (r *Reader) Fragment() int { return r.to - r.from }

// Unfinished returns the bytes after the last newline, valid until the next call
// of Next.
func (r *Reader) Unfinished() []byte { return r.buf[r.from:r.to] }

// Buffered reports whether a complete line is in the buffer. No byte is searched twice.
func (r *Reader) Buffered() bool {
	n := bytes.IndexByte(r.buf[r.seen:r.to], '\n')
	if n < 0 {
		r.seen = r.to
		return false
	}
	r.seen += n
	return true
}

// trim removes byte order marks and a trailing CR.
func trim(line []byte) []byte {
	return bytes.TrimSuffix(WithoutMark(line), []byte("\r"))
}

// WithoutMark removes leading byte order marks: PowerShell begins its output with
// one, other runtimes every line.
func WithoutMark(line []byte) []byte {
	for len(line) > 2 && string(line[:3]) == "\xef\xbb\xbf" {
		line = line[3:]
	}
	return line
}

// makeRoom ensures that there is room to read after the unread part, which it may
// move to the front.
func (r *Reader) makeRoom() {
	unread := r.to - r.from
	if unread > 0 && len(r.buf)-r.to >= readAtLeast {
		return
	}
	size := len(r.buf)
	switch {
	case unread == 0 && size > 1<<20:
		size = firstBuffer // release what one huge message needed
	case r.filled && size < busyBuffer:
		size = busyBuffer
	case size-unread < readAtLeast && 2*size >= r.limit:
		size = r.limit + firstBuffer // never grows further: longer lines are skipped
	case size-unread < readAtLeast:
		size *= 2
	}
	buf := r.buf
	if size != len(r.buf) {
		buf = make([]byte, size)
	}
	copy(buf, r.buf[r.from:r.to])
	r.buf, r.seen, r.from, r.to = buf, r.seen-r.from, 0, unread
}

func (r *Reader) fill() {
	n, err := r.src.Read(r.buf[r.to:])
	r.filled = n == len(r.buf)-r.to
	r.to += n
	if n == 0 || err != nil {
		r.err = err
	}
}

// skip discards bytes up to the next newline or until the line counts as endless.
// In the latter case the next call continues with it.
func (r *Reader) skip() *TooLong {
	long := &TooLong{}
	for {
		n := bytes.IndexByte(r.buf[r.from:r.to], '\n')
		part := r.buf[r.from:r.to]
		if n >= 0 {
			part = part[:n]
		}
		if long.Length == 0 {
			long.Head = bytes.Clone(WithoutMark(part[:min(len(part), maxTooLongKept)]))
		}
		long.Length += len(part)
		part = part[max(0, len(part)-maxTooLongKept):]
		if over := len(long.Tail) + len(part) - maxTooLongKept; over > 0 {
			long.Tail = append(long.Tail[:0], long.Tail[over:]...)
		}
		long.Tail = append(long.Tail, part...)
		if n >= 0 {
			r.from += n + 1
			r.seen = r.from
			r.inLongLine = false
			return long
		}
		r.from, r.to, r.seen = 0, 0, 0
		long.Endless = long.Length > endlessFactor*r.limit
		if r.inLongLine = long.Endless; long.Endless || r.err != nil {
			return long
		}
		r.fill()
	}
}
