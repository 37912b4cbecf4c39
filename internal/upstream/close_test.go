package upstream

import (
	"io"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// losses counts what was reported as lost.
type losses struct {
	ear
	mu sync.Mutex
	n  int
}

func (l *losses) Lost(*Conn, []byte, Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
}

// The request that finds out that the session is gone ends while the link does. Whichever is first,
// its fate is reported, or known when the link has ended: otherwise its call would wait indefinitely.
func TestARequestThatEndsWithItsLinkIsNotForgotten(t *testing.T) {
	t.Parallel()
	remote, err := NewRemote(launch.Spec{URL: "http://127.0.0.1:1/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		reader := &losses{}
		c := dial(remote, 1, reader, io.Discard)
		w := c.link.(*web)
		x := newExchange(w, 1, m, nil)
		x.try.Store(&try{given: true, refused: true})
		w.mu.Lock()
		w.last, w.live[x.end] = x.end, x
		w.running.Go(func() { w.close(x, false) })
		w.fail(failure{err: errEnded, gone: true})
		w.mu.Unlock()
		<-c.Done()
		<-w.over
		if late := c.Lingers(x.end); late != (reader.n == 1) || !late && w.delivery(x.end) != fault.Refused {
			t.Fatalf("it continues after the link: %v; reported %d times; delivery %v", late, reader.n, w.delivery(x.end))
		}
	}
}
