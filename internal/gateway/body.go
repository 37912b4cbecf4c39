package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/internal/wire"
)

// hasten sets the time by which the whole body has to be here, also where it
// is refused unread: what is left of it is read before the next request. An
// answer has to be taken in time as well; whoever writes a stream sets that
// limit anew.
func (g *Gateway) hasten(w http.ResponseWriter, r *http.Request) {
	control, now := http.NewResponseController(w), time.Now()
	control.SetWriteDeadline(now.Add(g.BodyWithin + writeWithin))
	if r.ContentLength != 0 {
		control.SetReadDeadline(now.Add(g.BodyWithin))
	}
}

// readBody reads the body to its end before anything of it is forwarded: a
// request that breaks off halfway never reaches a server.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if r.ContentLength > mostBody {
		return nil, tooLarge()
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		// Room grows with what really comes, not with what is announced.
		body.Grow(int(min(r.ContentLength, 64<<10)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, mostBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		refused := plain(http.StatusRequestTimeout, "the body did not come within "+g.BodyWithin.String())
		refused.header("Connection", "close")
		return nil, refused
	case err != nil && !errors.Is(err, io.EOF):
		refused := plain(http.StatusBadRequest, "the body broke off")
		refused.header("Connection", "close")
		return nil, refused
	}
	// From here on silence of the client is no fault.
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	return wire.OneLine(bytes.TrimSpace(body.Bytes())), nil
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
