package attach

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// The kinds of frames in a stream. A stream without an end was cut off: its sender was killed.
const (
	frameData   byte = iota
	frameEnd         // of the stream
	frameFailed      // the same, with the reason
	frameLeave       // gauze up is about to exit: the client ends its stream, gets the responses that are due, and continues elsewhere
)

const (
	frameHead  = 5       // the kind and the length
	maxFrame   = 1 << 20 // bytes in a frame
	readBuffer = 8 << 10
)

// Conn carries the stdio of one client. Reads and writes may be concurrent.
type Conn struct {
	raw  net.Conn
	gone func() // called when the other side is gone before its stream ended, or after it; may be nil

	in   *bufio.Reader
	left uint32 // unread bytes of the frame
	err  error  // of every further Read

	leaving func() // called by Read when gauze up is about to exit; may be nil
	ending  bool   // it is; for the goroutine that reads

	writing sync.Mutex
	ended   bool // we have ended our stream
}

func newConn(raw net.Conn, gone func()) *Conn {
	return &Conn{raw: raw, gone: gone, in: bufio.NewReaderSize(raw, readBuffer)}
}

// Read reads what the other side wrote. The error is io.EOF after its CloseWrite, a *Refusal if it
// ended with a reason, and ErrLost if it is gone.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.err == nil && c.left == 0 {
		c.err = c.nextFrame()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err = c.in.Read(p[:min(len(p), int(c.left))])
	c.left -= uint32(n)
	if err != nil {
		c.err = c.lost()
	}
	return n, c.err
}

// nextFrame reads until there is data, or the stream ends.
func (c *Conn) nextFrame() error {
	for c.left == 0 {
		var head [frameHead]byte
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return c.lost()
		}
		size := binary.BigEndian.Uint32(head[1:])
		switch kind := head[0]; {
		case kind == frameData:
			c.left = size
		case kind == frameEnd && size == 0:
			c.awaitEnd()
			return io.EOF
		case kind == frameLeave && size == 0:
			c.ending = true
			if c.leaving != nil {
				c.leaving()
			}
		case kind == frameFailed && size <= maxReason:
			reason := make([]byte, size)
			if _, err := io.ReadFull(c.in, reason); err != nil {
				return c.lost()
			}
			c.awaitEnd()
			return &Refusal{Reason: plaintext.Clean(string(reason))}
		default:
			return c.lost()
		}
	}
	return nil
}

// lost reports that the other side is gone.
func (c *Conn) lost() error {
	if c.gone != nil {
		c.gone()
	}
	return ErrLost
}

// awaitEnd reports when the other side is gone after it has ended its stream: it still reads.
func (c *Conn) awaitEnd() {
	if c.gone == nil {
		return
	}
	go func() {
		io.Copy(io.Discard, c.raw)
		c.gone()
	}()
}

// Write writes to the other side. No byte after the first n was sent.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.ended {
		return 0, net.ErrClosed
	}
	for len(p) > 0 {
		part := p[:min(len(p), maxFrame)]
		sent, err := c.frame(frameData, part)
		n += sent
		if err != nil {
			if c.gone != nil {
				c.gone()
			}
			return n, err
		}
		p = p[len(part):]
	}
	return n, nil
}

// frame writes a frame with one system call, and returns how much of its content was sent.
func (c *Conn) frame(kind byte, content []byte) (n int, err error) {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content)))
	frame := net.Buffers{head, content}
	sent, err := frame.WriteTo(c.raw)
	return max(0, int(sent)-frameHead), err
}

// leave asks the client to end its stream and to continue elsewhere.
func (c *Conn) leave() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.ended {
		return nil
	}
	_, err := c.frame(frameLeave, nil)
	return err
}

// CloseWrite ends the stream to the other side, which can still write.
func (c *Conn) CloseWrite() error { return c.end(nil) }

// end ends the stream, with the reason if there is one.
func (c *Conn) end(reason error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	kind, text := frameEnd, ""
	if reason != nil {
		kind, text = frameFailed, plaintext.Clean(reason.Error())
	}
	_, err := c.frame(kind, []byte(text[:min(len(text), maxReason)]))
	return err
}

// Close closes the connection. Without CloseWrite before, the other side gets ErrLost.
func (c *Conn) Close() error { return c.raw.Close() }
