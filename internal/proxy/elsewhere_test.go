package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// hushed is a session whose server never answers initialize, which the client has sent.
func hushed(t *testing.T, q *quack) (s *story, id string) {
	t.Helper()
	q.treat = func(int, launch.Spec) upstream.Treated { return upstream.Treated{} }
	o := quick()
	o.StartTimeout, o.lookInterval, o.Doctor = time.Hour, 10*time.Millisecond, q
	s = begin(t, o, "-ignore-initialize")
	id = s.request("initialize", initializeParams)
	return s, id
}

// untilLooked waits until the silent server was looked at as often as it will be.
func (s *story) untilLooked() {
	s.until("the server was looked at", func() bool {
		s.session.mu.Lock()
		defer s.session.mu.Unlock()
		return s.session.elsewhere.looks == maxLooks && !s.session.elsewhere.looking
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
	if n := q.looked.Load(); n < maxLooks {
		t.Errorf("told after %d looks", n)
	}
}

// A server that is only slow is waited for.
func TestASlowServerIsOnlyLookedAt(t *testing.T) {
	t.Parallel()
	s, id := hushed(t, doctorWith(nil))
	s.untilLooked()
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	if len(s.session.flight) != 1 || s.session.elsewhere.settled {
		t.Errorf("%s is no longer waited for", id)
	}
}

func (q *quack) serving(address string) *quack {
	q.serves = address
	return q
}
