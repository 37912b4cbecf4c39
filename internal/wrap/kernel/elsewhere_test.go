package kernel_test

import (
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// hushed is a session whose server never answers initialize, which the client has sent.
func hushed(t *testing.T, q *quack) (s *story, id string) {
	t.Helper()
	q.treat = func(int, launch.Spec) upstream.Treated { return upstream.Treated{} }
	o := quick()
	o.StartTimeout, o.Timing.LookInterval, o.Doctor = time.Hour, 10*time.Millisecond, q
	s = begin(t, o, "-ignore-initialize")
	id = s.request("initialize", initializeParams)
	return s, id
}

// untilLooked waits until the silent server was looked at as often as it will be.
func (s *story) untilLooked() {
	s.until("the server was looked at", func() bool {
		return s.session.Inside().Looks == kernel.MaxLooks && !s.session.Inside().Looking
	})
}

// A client learns before it gives up that its server serves HTTP.
func TestACommandThatServesHTTPIsToldBeforeTheClientGivesUp(t *testing.T) {
	t.Parallel()
	q := doctorWith(nil).serving("http://127.0.0.1:8000/mcp")
	s, id := hushed(t, q)
	if m := s.wantFault(id, fault.StartTimeout); !strings.Contains(m.raw, "It is unwell.") {
		t.Errorf("no cause: %s", m.raw)
	}
	if n := q.looked.Load(); n < 2 {
		t.Errorf("told after %d look: it may open its port before it answers on stdout", n)
	}
}

// Where the ports of a command are not shown, a cause that its output shows counts after the third look.
func TestACauseThatLastsIsToldBeforeTheClientGivesUp(t *testing.T) {
	t.Parallel()
	q := doctorWith(nil)
	q.lasts = true
	s, id := hushed(t, q)
	s.wantFault(id, fault.StartTimeout)
	if n := q.looked.Load(); n < kernel.MaxLooks {
		t.Errorf("told after %d looks", n)
	}
}

// A server that is only slow is waited for.
func TestASlowServerIsOnlyLookedAt(t *testing.T) {
	t.Parallel()
	s, id := hushed(t, doctorWith(nil))
	s.untilLooked()
	if now := s.session.Inside(); now.Flight != 1 || now.Settled {
		t.Errorf("%s is no longer waited for", id)
	}
}

func (q *quack) serving(address string) *quack {
	q.serves = address
	return q
}
