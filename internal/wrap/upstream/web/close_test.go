package web

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// losses counts what was reported as lost.
type losses struct {
	ear
	mu sync.Mutex
	n  int
}

func (l *losses) Lost([]byte, life.Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
}

// The request that finds out that the session is gone ends while the link does. Whichever is first,
// its fate is reported, or known when the link has ended: otherwise its call would wait indefinitely.
func TestARequestThatEndsWithItsLinkIsNotForgotten(t *testing.T) {
	t.Parallel()
	remote, err := NewRemote(launch.Spec{URL: "http://127.0.0.1:1/mcp"}, Access{})
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
		w := dial(remote, reader)
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
		<-w.rec.Done()
		<-w.over
		late := 0
		for _, x := range exchanges {
			if w.Lingers(x.end) {
				late++
			} else if fate := w.Delivery(x.end); fate != fault.Unknown {
				t.Fatalf("request %d ended before the link, and its delivery is %v", x.end, fate)
			}
		}
		if reader.n != late {
			t.Fatalf("%d requests continued after the link, and %d were reported", late, reader.n)
		}
	}
}
