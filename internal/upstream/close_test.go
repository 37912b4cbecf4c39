package upstream

import (
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

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
	const together = 16
	for range 500 {
		reader := &losses{}
		c := dial(remote, 1, reader, io.Discard, defaultConfirmAfter, wire.MaxLine)
		w := c.link.(*web)
		w.mu.Lock()
		var exchanges []*exchange
		for end := int64(1); end <= together; end++ {
			x := newExchange(w, end, m, Sending{})
			x.try.Store(&try{given: true})
			w.last, w.live[x.end] = x.end, x
			w.running.Go(func() { w.close(x, false) })
			exchanges = append(exchanges, x)
		}
		w.fail(failure{err: errEnded, gone: true})
		// A mutex for which others wait longer than a millisecond is handed on in the order in which it
		// was asked for: the link ends between two steps of a request that takes it twice.
		for held := time.Now(); time.Since(held) < 2*time.Millisecond; {
			runtime.Gosched()
		}
		w.mu.Unlock()
		<-c.Done()
		<-w.over
		late := 0
		for _, x := range exchanges {
			if c.Lingers(x.end) {
				late++
			} else if fate := w.delivery(x.end); fate != fault.Unknown {
				t.Fatalf("request %d ended before the link, and its delivery is %v", x.end, fate)
			}
		}
		if reader.n != late {
			t.Fatalf("%d requests continued after the link, and %d were reported", late, reader.n)
		}
	}
}
