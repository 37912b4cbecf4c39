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

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// hasten sets the time by which the whole body has to be here, also where it
// is refused unread: what is left of it is read before the next request. An
// answer has to be taken in time as well; whoever writes a stream sets that
// limit again.
func (g *Gateway) hasten(w http.ResponseWriter, r *http.Request) {
	control, now := http.NewResponseController(w), time.Now()
	control.SetWriteDeadline(now.Add(g.BodyWithin + writeWithin))
	if r.ContentLength != 0 {
		control.SetReadDeadline(now.Add(g.BodyWithin))
	}
}

// openBody begins to count a body. The caller has to close it.
func (g *Gateway) openBody(w http.ResponseWriter, who principal) *body {
	control, now := http.NewResponseController(w), time.Now()
	last := now.Add(g.BodyWithin)
	return g.bodies.open(who, now, func(until time.Time) {
		if until.After(last) {
			until = last
		}
		control.SetReadDeadline(until)
	})
}

// readBody reads the body to its end before anything of it is forwarded: a
// request that breaks off halfway never reaches a server. What it returns is
// counted as held until the caller closes b.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request, b *body) ([]byte, *refusal) {
	if r.ContentLength > mostBody {
		return nil, tooLarge()
	}
	source := http.MaxBytesReader(w, r.Body, mostBody)
	var full [][]byte // chunks before the last one
	last := make([]byte, 0, firstChunk(r.ContentLength))
	for {
		n, err := source.Read(last[len(last):cap(last)])
		last = last[:len(last)+n]
		switch {
		case err == io.EOF:
			if !g.bodies.complete(b) {
				return nil, g.noRoom()
			}
			if full != nil {
				last = bytes.Join(append(full, last), nil)
			}
			return wire.OneLine(bytes.TrimSpace(last)), nil
		case err != nil:
			return nil, g.unread(b, err)
		case !g.bodies.progress(b, time.Now()):
			return nil, g.noRoom()
		case len(last) == cap(last):
			if !g.bodies.grow(b, bodyChunk, time.Now()) {
				return nil, g.noRoom()
			}
			full = append(full, last)
			last = make([]byte, 0, bodyChunk)
		}
	}
}

// firstChunk is the room a body begins with: enough for a small one and the
// byte that would follow it. More grows with what really comes, not with what
// is announced.
func firstChunk(announced int64) int {
	if announced < 0 {
		return freeBody
	}
	return int(min(announced+1, freeBody))
}

// unread is the refusal of a body that could not be read to its end.
func (g *Gateway) unread(b *body, err error) *refusal {
	var large *http.MaxBytesError
	refused := plain(http.StatusBadRequest, "the body broke off")
	switch {
	case g.bodies.gaveWay(b):
		return g.noRoom()
	case errors.As(err, &large):
		return tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		refused = plain(http.StatusRequestTimeout, fmt.Sprintf("the body was not complete within %v, or nothing of it came for %v", g.BodyWithin, bodyIdle))
	}
	refused.header("Connection", "close")
	return refused
}

// noRoom is the refusal of a body that would exceed what all of them may hold.
func (g *Gateway) noRoom() *refusal {
	refused := busy(&fault.Fault{Code: fault.BodyLimit, Delivery: fault.Unsent, Server: g.Session.Name, At: time.Now(),
		Detail: fmt.Sprintf("requests in flight may hold %d MiB together", g.bodies.limit>>20)}, nil)
	refused.header("Connection", "close")
	return refused
}

func tooLarge() *refusal {
	refused := plain(http.StatusRequestEntityTooLarge, "the body is larger than 16 MiB")
	refused.header("Connection", "close")
	return refused
}

// message is what a client said, as far as we have to know it.
type message struct {
	wire.Message
	meta    []byte // raw _meta of its params
	version []byte // raw protocol version in it; not nil: the message is modern
	token   []byte // raw progress token
}

// isCall reports whether the message wants an answer.
func (m *message) isCall() bool { return m.Kind == wire.Request }

// mostBatch messages are taken in one batch.
const mostBatch = 100

// parse inspects a body. What two readers could read in two ways is refused.
func parse(body []byte) (messages []message, batch bool, refused *refusal) {
	if len(body) > 0 && body[0] == '[' {
		parts, err := wire.SplitBatch(body, mostBatch)
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
		err = errors.New("something follows the message")
	}
	if err != nil {
		return m, unreadable(text, scanned.ID, err)
	}
	// Of the params, what decisions are made by has to be there once.
	var values [5][]byte
	if err := wire.Fields(m.Params, values[:], "_meta", "name", "arguments", "uri", "requestId"); err != nil {
		return m, unreadable(text, scanned.ID, err)
	}
	m.meta = values[0]
	var inner [2][]byte
	if err := wire.Fields(m.meta, inner[:], metaVersion, "progressToken"); err != nil {
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
