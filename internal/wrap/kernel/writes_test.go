package kernel

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// A write that another session sends while a call waits to be repeated is as
// final as one it sent before the crash.
func TestARepetitionYieldsToAWriteOfAnotherSession(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		class  Class
		others int // writes of other sessions, after the call was judged
		own    int // writes of its own session that go before it
		want   bool
	}{
		{name: "nobody wrote", class: Idempotent, want: true},
		{name: "its own session wrote first", class: Idempotent, own: 1, want: true},
		{name: "another session wrote", class: Idempotent, others: 1},
		{name: "a read", class: ReadOnly, others: 1, want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var writes atomic.Uint64
			s := New(Options{Server: upstream.Options{Spec: launch.Spec{Command: "none"}}, Words: plainly{}, Writes: &writes})
			c := &Call{class: test.class}
			s.order.noteSent(c)
			if ok, _ := mayRepeat(s.server.factsOf(c), connectionLost, upstream.Loss{Delivery: fault.Unknown}); !ok {
				t.Fatal("not repeated although nobody wrote")
			}
			c.past.deaths = 1
			for range test.own {
				s.order.noteSent(&Call{class: Unsafe})
			}
			writes.Add(uint64(test.others))
			if got := !s.order.overtaken(c); got != test.want {
				t.Errorf("repeated: %v, want %v", got, test.want)
			}
		})
	}
}

// A call that was never read did not happen yet: sending it is no repetition.
func TestAnUnreadCallIsSentAfterAWriteOfAnotherSession(t *testing.T) {
	t.Parallel()
	var writes atomic.Uint64
	s := New(Options{Server: upstream.Options{Spec: launch.Spec{Command: "none"}}, Words: plainly{}, Writes: &writes})
	c := &Call{class: Idempotent, arrived: time.Now()}
	s.order.noteSent(c)
	writes.Add(1)
	c.past.proven = 1
	if s.order.overtaken(c) {
		t.Error("held back although it never ran")
	}
}
