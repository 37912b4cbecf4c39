package wire

import (
	"bytes"
	"fmt"
	"io"
)

// MaxLine is the longest line taken for a message.
const MaxLine = 16 << 20

// Reader cuts a stream into lines. A line over the limit is skipped in
// constant memory and reported as *TooLong; the stream goes on behind it.
type Reader struct {
	src    io.Reader
	limit  int
	buf    []byte
	from   int  // start of the unread part of buf
	to     int  // end of it
	adrift bool // inside a line without end: what follows belongs to it
	filled bool // the last read took all the room there was
	err    error
}

const (
	firstBuffer = 8 << 10  // most servers are idle most of the time
	busyBuffer  = 64 << 10 // what a pipe holds
	readAtLeast = 4 << 10
)

// NewReader reads lines of at most limit bytes (MaxLine if limit is 0).
func NewReader(src io.Reader, limit int) *Reader {
	if limit == 0 {
		limit = MaxLine
	}
	return &Reader{src: src, limit: limit, buf: make([]byte, firstBuffer)}
}

// TooLong is a line that was skipped because of its length. Head and Tail are
// kept so that the request it answers can be found.
type TooLong struct {
	Length     int
	Head, Tail []byte
	Endless    bool // no line end came within endlessFactor times the limit
}

func (e *TooLong) Error() string { return fmt.Sprintf("a line of %d bytes", e.Length) }

const (
	keepOfTooLong = 1 << 10
	endlessFactor = 16 // 256 MiB without a line end is a flood, not a message
)

// Next returns the next line without its line end; it is valid until the
// following call. What stands behind the last line end when the stream ends
// is not a line: it is dropped, and Fragment tells its length.
func (r *Reader) Next() ([]byte, error) {
	if r.adrift {
		if long := r.skip(); long.Endless {
			return nil, long
		}
	}
	seen := r.from
	for {
		if n := bytes.IndexByte(r.buf[seen:r.to], '\n'); n >= 0 && seen+n-r.from <= r.limit {
			line := r.buf[r.from : seen+n]
			r.from = seen + n + 1
			return trim(line), nil
		}
		seen = r.to
		if r.to-r.from > r.limit {
			return nil, r.skip()
		}
		if r.err != nil {
			return nil, r.err
		}
		seen -= r.makeRoom()
		r.fill()
	}
}

// Fragment is the number of bytes behind the last line end.
func (r *Reader) Fragment() int { return r.to - r.from }

// Unfinished is that fragment; it is valid until the following call of Next.
func (r *Reader) Unfinished() []byte { return r.buf[r.from:r.to] }

// Buffered reports whether another whole line can be had without reading.
func (r *Reader) Buffered() bool { return bytes.IndexByte(r.buf[r.from:r.to], '\n') >= 0 }

// trim returns a line as it is read: without a byte order mark and a CR.
func trim(line []byte) []byte {
	return bytes.TrimSuffix(WithoutMark(line), []byte("\r"))
}

// WithoutMark drops byte order marks at the start of a text: PowerShell begins
// its output with one, other runtimes every line.
func WithoutMark(line []byte) []byte {
	for len(line) > 2 && string(line[:3]) == "\xef\xbb\xbf" {
		line = line[3:]
	}
	return line
}

// makeRoom sees to it that a good deal can be read behind the unread part,
// which it may move to the front. It returns by how much.
func (r *Reader) makeRoom() (moved int) {
	unread := r.to - r.from
	if unread > 0 && len(r.buf)-r.to >= readAtLeast {
		return 0
	}
	size := len(r.buf)
	switch {
	case unread == 0 && size > 1<<20:
		size = firstBuffer // give back what one huge message took
	case r.filled && size < busyBuffer:
		size = busyBuffer
	case size-unread < readAtLeast && 2*size >= r.limit:
		size = r.limit + firstBuffer // the last growth: a longer line is skipped
	case size-unread < readAtLeast:
		size *= 2
	}
	buf := r.buf
	if size != len(r.buf) {
		buf = make([]byte, size)
	}
	copy(buf, r.buf[r.from:r.to])
	moved, r.buf, r.from, r.to = r.from, buf, 0, unread
	return moved
}

func (r *Reader) fill() {
	n, err := r.src.Read(r.buf[r.to:])
	r.filled = n == len(r.buf)-r.to
	r.to += n
	if n == 0 || err != nil {
		r.err = err
	}
}

// skip drops bytes up to the next line end, or until there are too many of
// them; the line then goes on in the next call.
func (r *Reader) skip() *TooLong {
	long := &TooLong{}
	for {
		n := bytes.IndexByte(r.buf[r.from:r.to], '\n')
		part := r.buf[r.from:r.to]
		if n >= 0 {
			part = part[:n]
		}
		if long.Length == 0 {
			long.Head = bytes.Clone(WithoutMark(part[:min(len(part), keepOfTooLong)]))
		}
		long.Length += len(part)
		part = part[max(0, len(part)-keepOfTooLong):]
		if over := len(long.Tail) + len(part) - keepOfTooLong; over > 0 {
			long.Tail = append(long.Tail[:0], long.Tail[over:]...)
		}
		long.Tail = append(long.Tail, part...)
		if n >= 0 {
			r.from += n + 1
			r.adrift = false
			return long
		}
		r.from, r.to = 0, 0
		long.Endless = long.Length > endlessFactor*r.limit
		if r.adrift = long.Endless; long.Endless || r.err != nil {
			return long
		}
		r.fill()
	}
}
