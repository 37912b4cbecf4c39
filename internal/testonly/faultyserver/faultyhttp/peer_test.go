package faultyhttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// peer is a plain client: it sends what it is given and returns the response.
type peer struct {
	t       *testing.T
	s       *Server
	web     *http.Client
	ctx     context.Context
	session string
	modern  bool
	ids     int
}

func newPeer(t *testing.T, s *Server) *peer {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	t.Cleanup(cancel)
	return &peer{t: t, s: s, web: connections(t), ctx: ctx, modern: s.cfg.Era == Modern}
}

// legacyPeer returns a peer with a session.
func legacyPeer(t *testing.T, s *Server) *peer {
	t.Helper()
	p := newPeer(t, s)
	p.initialize()
	return p
}

func (p *peer) initialize() {
	p.t.Helper()
	p.session = ""
	got := p.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	if got.err != nil || got.status != 200 {
		p.t.Fatalf("initialize: %v", got)
	}
	p.session = got.header.Get(headerSession)
	if got := p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.status != 202 {
		p.t.Fatalf("initialized: %v", got)
	}
}

// outcome is the response to a request.
type outcome struct {
	err    error // of the request, or of reading the body
	status int
	header http.Header
	body   string
}

func (o outcome) String() string { return fmt.Sprintf("%d %v %.300s", o.status, o.err, o.body) }

// message returns the JSON of a response, from a body or a stream.
func (o outcome) message() string {
	if !strings.HasPrefix(o.header.Get("Content-Type"), "text/event-stream") {
		return o.body
	}
	events := readEvents(strings.NewReader(o.body))
	if len(events) == 0 {
		return ""
	}
	return events[len(events)-1].data
}

func (p *peer) call(tool, args string) outcome {
	p.t.Helper()
	return p.request("tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
}

func (p *peer) request(method, params string) outcome {
	p.t.Helper()
	return p.do(p.newRequest(method, params))
}

func (p *peer) newRequest(method, params string) *http.Request {
	p.ids++
	if p.modern {
		meta := `{"_meta":{"` + metaVersion + `":"2026-07-28","` + metaCapabilities + `":{}}`
		params = strings.Replace(params, "{", meta+",", 1)
		params = strings.Replace(params, ",}", "}", 1)
	}
	r := p.newPost(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.ids, method, params))
	if p.modern {
		var names struct{ Name, URI string }
		_ = json.Unmarshal([]byte(params), &names)
		r.Header.Set(headerVersion, modernVersion)
		r.Header.Set(headerMethod, method)
		if name := names.Name + names.URI; name != "" {
			r.Header.Set(headerName, name)
		}
	}
	return r
}

func (p *peer) post(body string) outcome { return p.do(p.newPost(body)) }

func (p *peer) newPost(body string) *http.Request {
	r := p.newHTTP(http.MethodPost, body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

func (p *peer) newGet(last string) *http.Request {
	r := p.newHTTP(http.MethodGet, "")
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set(headerLast, last)
	}
	return r
}

func (p *peer) newHTTP(verb, body string) *http.Request {
	r, err := http.NewRequestWithContext(p.ctx, verb, p.s.URL(), strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if p.session != "" {
		r.Header.Set(headerSession, p.session)
	}
	return r
}

func (p *peer) do(r *http.Request) outcome {
	resp, err := p.web.Do(r)
	if err != nil {
		return outcome{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return outcome{err: err, status: resp.StatusCode, header: resp.Header, body: string(body)}
}

// open sends a request and returns after the headers. The test reads the body.
func (p *peer) open(r *http.Request) *http.Response {
	p.t.Helper()
	resp, err := p.web.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 {
		p.t.Fatalf("status %d", resp.StatusCode)
	}
	return resp
}

func (p *peer) state() State {
	p.t.Helper()
	var got struct {
		Result struct {
			State State `json:"structuredContent"`
		} `json:"result"`
	}
	if out := p.call("state", "{}"); json.Unmarshal([]byte(out.message()), &got) != nil {
		p.t.Fatalf("state: %v", out)
	}
	return got.Result.State
}

// sse is an event as a client sees it.
type sse struct{ name, id, data string }

// eventReader reads a stream as the WHATWG standard specifies.
type eventReader struct {
	in    *bufio.Reader
	begun bool
	last  string
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{in: bufio.NewReader(r)} }

func (r *eventReader) line() (string, error) {
	var line bytes.Buffer
	for {
		b, err := r.in.ReadByte()
		switch {
		case err != nil:
			return "", err
		case b == '\n':
			return line.String(), nil
		case b == '\r':
			if r.in.Buffered() > 0 {
				if next, _ := r.in.Peek(1); next[0] == '\n' {
					_, _ = r.in.Discard(1)
				}
			}
			return line.String(), nil
		}
		line.WriteByte(b)
	}
}

// next returns the next event that has data or an id.
func (r *eventReader) next() (e sse, err error) {
	if !r.begun {
		r.begun = true
		if bom, _ := r.in.Peek(3); string(bom) == "\uFEFF" {
			_, _ = r.in.Discard(3)
		}
	}
	var data []string
	for {
		line, err := r.line()
		if err != nil {
			return sse{}, err // an incomplete event does not count
		}
		if line == "" {
			if data != nil {
				e.id, e.data = r.last, strings.Join(data, "\n")
				return e, nil
			}
			e = sse{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "data":
			data = append(data, value)
		case "id":
			r.last = value
		}
	}
}

func readEvents(in io.Reader) (all []sse) {
	r := newEventReader(in)
	for {
		e, err := r.next()
		if err != nil {
			return all
		}
		all = append(all, e)
	}
}
