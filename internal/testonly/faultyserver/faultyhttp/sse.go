package faultyhttp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// retryMS is the reconnection time sent to clients, in milliseconds.
const retryMS = "10"

// pump writes a stream to the client, beginning with event number from, until the stream ends or
// the client is gone. The style of an event may end it earlier.
func (x *exchange) pump(t *stream, from int, bent style) { x.write(t, from, bent, true) }

// resume writes the rest of a broken stream. Its events are written plainly, because a fault occurs
// only once.
func (x *exchange) resume(t *stream, from int, bent style) { x.write(t, from, bent, false) }

func (x *exchange) write(t *stream, from int, bent style, fresh bool) {
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.Header().Set("Cache-Control", "no-cache, no-transform")
	x.w.WriteHeader(http.StatusOK)
	if bent == odd {
		_, _ = io.WriteString(x.w, "\uFEFF") // allowed only at the very beginning
	}
	flush := http.NewResponseController(x.w).Flush
	_ = flush()
	for number := from; ; number++ {
		e, at, ok := t.next(x.ctx, number)
		if !ok {
			return
		}
		number = at
		how := plain
		switch {
		case bent == odd:
			how = odd
		case fresh:
			how = e.style
		}
		if how == hangup {
			return
		}
		err := x.writeEvent(t.eventID(number), e, how)
		_ = flush()
		if how == cut || how == half {
			x.c.cut()
			return
		}
		if err != nil {
			return
		}
	}
}

// writeEvent writes one event in its style.
func (x *exchange) writeEvent(id string, e event, how style) error {
	var b bytes.Buffer
	data, name := e.data, e.name
	if name == "" {
		name = "message"
	}
	switch {
	case how == cut:
		return nil
	case how == odd:
		writeOdd(&b, id, data)
	case data == nil:
		b.WriteString("id: " + id + "\nretry: " + retryMS + "\ndata: \n\n")
	default:
		b.WriteString("event: " + name + "\n")
		if id != "" {
			b.WriteString("id: " + id + "\n")
		}
		b.WriteString("data: ")
		if how == large || how == endless {
			return x.writePadded(b.Bytes(), data, how == endless)
		}
		b.Write(data)
		b.WriteString("\n\n")
	}
	if how == half {
		b.Truncate(b.Len() / 2)
	}
	_, err := x.w.Write(b.Bytes())
	return err
}

// writePadded adds spaces after the first brace of the message, which JSON allows: Config.Large of
// them, or endlessly many.
func (x *exchange) writePadded(head, data []byte, endless bool) error {
	if _, err := x.w.Write(append(head, data[0])); err != nil {
		return err
	}
	spaces := bytes.Repeat([]byte(" "), 64<<10)
	for left := x.s.cfg.Large; endless || left > 0; left -= len(spaces) {
		if !endless && left < len(spaces) {
			spaces = spaces[:left]
		}
		if _, err := x.w.Write(spaces); err != nil {
			return err
		}
	}
	_, err := x.w.Write(append(bytes.Clone(data[1:]), "\n\n"...))
	return err
}

// writeOdd writes an event in a form that the standard allows but no server uses: lines end with CR
// alone, comments and unknown fields are between the others, the space after a colon is missing,
// and the data has many lines.
func writeOdd(b *bytes.Buffer, id string, data []byte) {
	b.WriteString(": a comment\r:\runknown: field\rfieldwithoutcolon\rretry:" + retryMS + "\r")
	if id != "" {
		b.WriteString("id:" + id + "\r")
	}
	b.WriteString("event:message\r")
	var pretty bytes.Buffer
	if json.Indent(&pretty, data, "", "\t") != nil {
		pretty.Write(data)
	}
	for i, line := range strings.Split(pretty.String(), "\n") {
		b.WriteString("data:")
		if i%2 == 0 {
			b.WriteString(" ")
		}
		b.WriteString(line + "\r")
		if i == 1 {
			b.WriteString(": a comment inside of an event\r")
		}
	}
	b.WriteString("\r")
}

// markLongLived marks the connection as that of a long-lived stream until the exchange ends.
func (x *exchange) markLongLived() (done func()) {
	set := func(longLived bool) {
		x.s.mu.Lock()
		defer x.s.mu.Unlock()
		x.c.longLived = longLived
	}
	set(true)
	return func() { set(false) }
}

// CutStreams resets the connections of all long-lived streams: GET, subscriptions/listen and those
// of the old transport. It returns their number.
func (s *Server) CutStreams() int {
	s.mu.Lock()
	var longLived []*conn
	for c := range s.conns {
		if c.longLived {
			longLived = append(longLived, c)
		}
	}
	s.mu.Unlock()
	for _, c := range longLived {
		c.reset()
	}
	return len(longLived)
}
