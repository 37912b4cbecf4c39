package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
)

// bookings is a server at a URL with one tool that writes and checks its arguments before it runs.
type bookings struct {
	*httptest.Server
	made atomic.Int32
}

func openBookings(t *testing.T) *bookings {
	b := &bookings{}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	return b
}

func (b *bookings) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ Days any } }
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	members := `"result":{}`
	switch m.Method {
	case "initialize":
		members = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bookings","version":"1"}}`
	case "server/discover":
		members = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"bookings","version":"1"}}`
	case "tools/list":
		members = `"result":{"tools":[{"name":"book","inputSchema":{"type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}}]}`
	case "tools/call":
		members = `"error":{"code":-32602,"message":"Invalid arguments for tool book: days must be an integer"}`
		if _, ok := m.Params.Arguments.Days.(float64); ok {
			b.made.Add(1)
			members = `"result":{"content":[{"type":"text","text":"booked"}]}`
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members)
}

type oracle string

func (o oracle) Ask(context.Context, llm.Question) (llm.Answer, error) {
	return llm.Answer{JSON: json.RawMessage(o), Model: "oracle"}, nil
}

func TestTheCallsOfAllClientsAreCorrected(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			server := openBookings(t)
			o := quickly()
			o.Session.Models = func(string, proxy.Sampler) llm.Model { return oracle(`{"arguments":{"days":3}}`) }
			f := serveURL(t, o, server.URL)
			for n := range int32(2) {
				c := f.client()
				var a *answer
				if era == "legacy" {
					c.initialize("2025-06-18").request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).result()
					a = c.call("2", "book", `{"days":"3 days"}`)
				} else {
					c.modern("1", "tools/list", `{}`).result()
					a = c.modernCall("2", "book", `{"days":"3 days"}`)
				}
				a.want(200).result().wantText(t, "booked")
				if f.await(event.Corrected); server.made.Load() != n+1 {
					t.Errorf("%d bookings", server.made.Load())
				}
			}
			if n, _ := f.g.Counters(); n.Corrected != 2 {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestTheModelOfALegacyClientIsAskedOnItsStream(t *testing.T) {
	t.Parallel()
	server := openBookings(t)
	o := quickly()
	o.Session.Models = func(_ string, client proxy.Sampler) llm.Model {
		if client == nil {
			return nil
		}
		return llm.Sampling(client)
	}
	f := serveURL(t, o, server.URL)
	c := f.client()
	a := c.request("POST", strings.Replace(fmt.Sprintf(hello, "2025-06-18"), `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1)).want(200)
	a.result()
	c.session, c.headers = a.Header.Get(sessionHeader), append(c.headers, versionHeader, "2025-06-18")
	c.request("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(202)
	c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).result()
	call := c.call("2", "book", `{"days":"3 days"}`).want(200)
	question := call.next()
	if question.Method != "sampling/createMessage" {
		t.Fatalf("told %s", question.raw)
	}
	c.request("POST", `{"jsonrpc":"2.0","id":`+string(question.ID)+
		`,"result":{"role":"assistant","model":"theirs","content":{"type":"text","text":"{\"arguments\":{\"days\":3}}"}}}`).want(202)
	if call.result().wantText(t, "booked"); server.made.Load() != 1 {
		t.Errorf("%d bookings", server.made.Load())
	}
}
