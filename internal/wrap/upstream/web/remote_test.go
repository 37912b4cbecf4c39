package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// One connection serves call after call, whatever form the responses have.
func TestTheConnectionIsUsedAgain(t *testing.T) {
	var conns, requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message := `{"jsonrpc":"2.0","id":` + fmt.Sprint(requests.Add(1)) + `,"result":{"text":"` + strings.Repeat("x", 20_000) + `"}}`
		if requests.Load()%2 == 0 {
			w.Header().Set("Content-Type", "text/event-stream")
			message = "data: " + message + "\n\n"
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		fmt.Fprint(w, message)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	census.Mark(t)
	remote, err := NewRemote(launch.Spec{URL: server.URL}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	heard := &ear{}
	s := dial(remote, heard)
	defer func() { s.rec.End("the test is over", true); <-s.rec.Done(); remote.Close() }()
	for id := 1; id <= 6; id++ {
		if _, err := s.Put(Sending{}, [][]byte{fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)}); err != nil {
			t.Fatal(err)
		}
		s.Flush()
		s.running.Wait()
		if len(heard.heard) != id {
			t.Fatalf("%d responses to %d requests", len(heard.heard), id)
		}
	}
	// On a busy machine the end of a response may come too late for the next request. With a new connection after each
	// stream there would be 4.
	if conns.Load() > 3 {
		t.Errorf("%d connections for 6 requests", conns.Load())
	}
}
