package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Who reads more slowly than its call speaks still gets the answer.
func TestAnAnswerIsNeverLeftOut(t *testing.T) {
	t.Parallel()
	large := []byte(strings.Repeat("x", 1<<20))
	s := callStream()
	for range 20 {
		if !s.put(item{line: large}) {
			t.Fatal("the stream of a call was given up")
		}
	}
	s.put(item{line: large, due: true})
	s.put(item{line: []byte("the answer"), answer: true, due: true})
	items, _, cut := s.take()
	if cut || len(items) > 8 || string(items[len(items)-1].line) != "the answer" || !items[len(items)-2].due {
		t.Errorf("%d items, cut: %v", len(items), cut)
	}
	// Who only listens has to know that it missed something.
	s = newStream()
	for range 20 {
		s.put(item{line: large})
	}
	if items, _, cut := s.take(); !cut || len(items) != 0 {
		t.Errorf("%d items, cut: %v", len(items), cut)
	}
}

// A session that ends between a request and its answer still answers it.
func TestARequestAtTheVeryEndIsAnswered(t *testing.T) {
	t.Parallel()
	s := newSession("x", principal{}, &Options{})
	messages, _, refused := parse([]byte(`{"jsonrpc":"2.0","id":5,"method":"ping"}`))
	if refused != nil {
		t.Fatal(refused)
	}
	_, out, _, refused := s.openLane(messages, 1)
	if refused != nil {
		t.Fatal(refused)
	}
	s.closed()
	s.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":5,"error":{}}`), About: []byte("5"), Answer: true})
	if items, ended, _ := out.take(); len(items) != 1 || !ended {
		t.Errorf("%d answers, ended: %v", len(items), ended)
	}
}

func TestACancelledCallLeavesNoLane(t *testing.T) {
	t.Parallel()
	s := newSession("x", principal{}, &Options{Resumable: true})
	for i := range 100 {
		messages, _, _ := parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
		l, out, _, refused := s.openLane(messages, 1)
		if refused != nil {
			t.Fatal(refused)
		}
		s.cancelled(fmt.Sprint(i))
		s.detach(l, out)
	}
	s.expire(time.Now().Add(time.Hour))
	if len(s.lanes) != 1 {
		t.Errorf("%d lanes", len(s.lanes))
	}
}

// A session that ends here ends at the server, too: it would fill up.
func TestASessionIsEndedAtItsServer(t *testing.T) {
	t.Parallel()
	server := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	f := serveURL(t, quickly(), server.URL())
	f.client().initialize("2025-06-18").request("DELETE", "").want(204)
	ctx := patience.Context(t)
	if _, err := server.Await(ctx, func(r faultyhttp.Request) bool { return r.Verb == "DELETE" && r.Session != "" }); err != nil {
		t.Error(err)
	}
}
