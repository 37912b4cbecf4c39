package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// anotherWay returns how the server of a story is started in another way.
func (s *story) anotherWay() launch.Spec {
	spec := s.session.Options.Spec
	spec.Env = append(slices.Clone(spec.Environment()), "GAUZE_TEST_NEW=yes")
	return spec
}

// A server that is started in another way replaces the old one after the calls in flight, and the session goes on.
func TestAServerIsStartedInAnotherWay(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	pid := s.pid()
	id := s.start("ask_read", `{"method":"roots/list"}`)
	question := s.notice("roots/list", 1)
	proxy.Renew(s.anotherWay(), s.session)
	if s.happened(event.Died) != 0 {
		t.Error("the server was ended with a call in flight")
	}
	s.reply(question, `"result":{"roots":[]}`)
	s.text(s.answer(id))
	if got := s.call("env", `{}`); !strings.Contains(got, "GAUZE_TEST_NEW=yes") || s.pid() == pid {
		t.Errorf("the next call got the server of before: %s", got)
	}
	if e := s.await(event.Died, 1); !strings.HasSuffix(e.Detail, upstream.NewCommand) {
		t.Errorf("its end is reported as %q", e.Detail)
	}
	if n := s.happened(event.Restored) + s.happened(event.Saved) + s.happened(event.Failed); n != 0 {
		t.Errorf("a change counts as a failure\n%s", s.told())
	}
}

// A server that sleeps is not woken by a change: its next start is the new one.
func TestASleepingServerIsStartedInAnotherWay(t *testing.T) {
	t.Parallel()
	s := beginKnown(t, lazy(), false)
	s.initialize()
	proxy.Renew(s.anotherWay(), s.session)
	if n := s.happened(event.Started); n != 0 {
		t.Errorf("the server was woken %d times", n)
	}
	if got := s.call("env", `{}`); !strings.Contains(got, "GAUZE_TEST_NEW=yes") {
		t.Errorf("it was started in the way of before: %s", got)
	}
}
