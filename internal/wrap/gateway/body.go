package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// setDeadlines sets the deadlines for the whole body, which also apply to the rest of a rejected
// body that is read before the next request, and for the response. A handler that writes a stream
// extends the latter.
func (g *Gateway) setDeadlines(w http.ResponseWriter, r *http.Request) {
	control, now := http.NewResponseController(w), time.Now()
	control.SetWriteDeadline(now.Add(g.BodyTimeout + writeTimeout))
	if r.ContentLength != 0 {
		control.SetReadDeadline(now.Add(g.BodyTimeout))
	}
}

// openBody begins to count a body. The caller must close it.
func (g *Gateway) openBody(w http.ResponseWriter, who principal) *body {
	control, now := http.NewResponseController(w), time.Now()
	last := now.Add(g.BodyTimeout)
	return g.bodies.open(who, now, func(until time.Time) {
		if until.After(last) {
			until = last
		}
		control.SetReadDeadline(until)
	})
}

// readBody reads the body to its end before any of it is forwarded: a request that breaks off never
// reaches a server. The result is counted until the caller closes b.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request, b *body) ([]byte, *refusal) {
	limit := int64(g.maxBody())
	if r.ContentLength > limit {
		return nil, g.tooLarge()
	}
	source := http.MaxBytesReader(w, r.Body, limit)
	var full [][]byte // the chunks before the last one
	last := make([]byte, 0, firstChunk(r.ContentLength))
	for {
		n, err := source.Read(last[len(last):cap(last)])
		last = last[:len(last)+n]
		switch {
		case err == io.EOF:
			if !g.bodies.complete(b) {
				return nil, g.bodyLimit()
			}
			if full != nil {
				last = bytes.Join(append(full, last), nil)
			}
			return wire.OneLine(bytes.TrimSpace(last)), nil
		case err != nil:
			return nil, g.unread(b, err)
		case !g.bodies.progress(b, time.Now()):
			return nil, g.bodyLimit()
		case len(last) == cap(last):
			if !g.bodies.grow(b, chunkSize, time.Now()) {
				return nil, g.bodyLimit()
			}
			full = append(full, last)
			last = make([]byte, 0, chunkSize)
		}
	}
}

// firstChunk returns the initial size of the buffer: enough for a small body and the byte that
// would follow it. It grows with what arrives, not with what is announced.
func firstChunk(announced int64) int {
	if announced < 0 {
		return uncountedBytes
	}
	return int(min(announced+1, uncountedBytes))
}

// unread returns the refusal of a body that could not be read to its end.
func (g *Gateway) unread(b *body, err error) *refusal {
	var large *http.MaxBytesError
	refused := plain(http.StatusBadRequest, "the body is incomplete")
	switch {
	case g.bodies.wasEvicted(b):
		return g.bodyLimit()
	case errors.As(err, &large):
		return g.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		refused = plain(http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %v, or stalled for %v", g.BodyTimeout, bodyIdleTimeout))
	}
	refused.header("Connection", "close")
	return refused
}

// bodyLimit returns the refusal of a body that would exceed the limit for all bodies.
func (g *Gateway) bodyLimit() *refusal {
	refused := busy(&fault.Fault{Code: fault.BodyLimit, Delivery: fault.Unsent, Server: g.Session.Name, At: time.Now(),
		Detail: fmt.Sprintf("request bodies in flight are limited to %d MiB in total", g.bodies.limit>>20)}, nil)
	refused.header("Connection", "close")
	return refused
}

// tooLarge returns the refusal of a body that is longer than any message may be.
func (g *Gateway) tooLarge() *refusal {
	refused := plain(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes; to raise the limit, use gauze serve --max-message", g.maxBody()))
	refused.header("Connection", "close")
	return refused
}

// message is a message of a client and what the gateway must know about it.
type message struct {
	wire.Message
	meta    []byte // the raw _meta of its params
	version []byte // the raw protocol version in meta; set if the message is modern
	token   []byte // the raw progress token
}

// isCall reports whether the message expects a response.
func (m *message) isCall() bool { return m.Kind == wire.Request }

// parse inspects a body. It rejects what two parsers could read differently.
func parse(body []byte) (messages []message, batch bool, refused *refusal) {
	if len(body) > 0 && body[0] == '[' {
		parts, err := wire.SplitBatch(body, wire.MaxBatch)
		if err != nil {
			return nil, true, unreadable(body, nil, err)
		}
		for _, part := range parts {
			m, refused := inspect(part)
			if refused != nil {
				return nil, true, refused
			}
			messages = append(messages, m)
		}
		return messages, true, nil
	}
	m, refused := inspect(body)
	return []message{m}, false, refused
}

func inspect(text []byte) (m message, refused *refusal) {
	scanned, rest, err := wire.Scan(text)
	m.Message = scanned
	if err == nil && len(rest) > 0 {
		err = errors.New("the message is followed by more data")
	}
	if err != nil {
		return m, unreadable(text, scanned.ID, err)
	}
	// Members of params that decisions depend on must not be repeated.
	var values [5][]byte
	if err := wire.Fields(m.Params, values[:], "_meta", "name", "arguments", "uri", "requestId"); err != nil {
		return m, unreadable(text, scanned.ID, err)
	}
	m.meta = values[0]
	var inner [2][]byte
	if err := wire.Fields(m.meta, inner[:], wire.MetaVersion, "progressToken"); err != nil {
		return m, unreadable(text, scanned.ID, err)
	}
	m.version, m.token = inner[0], inner[1]
	return m, nil
}

func unreadable(text, id []byte, err error) *refusal {
	if !json.Valid(text) {
		return rpc(http.StatusBadRequest, codeParse, nil, "the body is not JSON: %v", err)
	}
	if string(id) == "null" {
		id = nil
	}
	return rpc(http.StatusBadRequest, codeInvalidRequest, id, "not a valid message: %v", err)
}
