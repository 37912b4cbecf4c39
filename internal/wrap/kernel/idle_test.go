package kernel_test

import (
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// lookedAt are options with which an idle server is looked at all the time.
func lookedAt() Options {
	o := unprobed()
	o.Timing.IdleProbe, o.Timing.ProbeTimeout, o.Timing.HangGrace = 10*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	return o
}

// awaitState waits for a state of the server.
func (s *story) awaitState(want health.State) {
	s.t.Helper()
	s.until("it is "+want.String(), func() bool { return s.session.Upstream().Snapshot().State == want })
}

// awaitProbe waits until the server has answered a probe.
func (s *story) awaitProbe() {
	s.t.Helper()
	s.until("a probe is answered", func() bool {
		return s.session.Inside().Answers
	})
}

// A server at a URL that no longer answers is unresponsive, although nobody calls it, and well again when it
// answers. Its connection is not replaced.
func TestAnIdleServerAtAURLIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, era := range []struct {
		name, question string
		config         faultyhttp.Config
	}{{"legacy", "ping", stateful}, {"modern", "server/discover", faultyhttp.Config{Era: faultyhttp.Modern}}} {
		t.Run(era.name, func(t *testing.T) {
			t.Parallel()
			s := beginWeb(t, era.config, lookedAt())
			if s.modern = era.name == "modern"; s.modern {
				s.discover()
			} else {
				s.initialize()
			}
			s.awaitProbe()
			s.web.Arm(faultyhttp.SlowHeaders, 1<<30, faultyhttp.Match{Method: era.question})
			s.awaitState(health.Unresponsive)
			if f := s.session.Upstream().Failures(); len(f) < 3 || f[0].Kind != health.TimedOut {
				t.Errorf("%+v", f)
			}
			s.web.Disarm()
			s.awaitState(health.Healthy)
			s.text(s.answer(s.start("echo", `{"text":"x"}`)))
			s.want(event.Died, 0)
		})
	}
}

// A look at the server does not touch one that is busy with a call, however long that takes.
func TestALookLeavesALongCallAlone(t *testing.T) {
	t.Parallel()
	o := lookedAt()
	o.Timing.Timeout, o.Timing.HangWait, o.Timing.ProbeTimeout = 0, time.Nanosecond, patience.Limit()
	s, open := beginJournal(t, o)
	s.awaitProbe()
	id := s.start("stall", "") // it sleeps, and answers no probe
	s.taken()
	for range 50 {
		s.session.Look()
	}
	open()
	s.text(s.answer(id))
	s.want(event.ProbeMissed, 0)
	s.want(event.Died, 0)
}

// A server that answers no probe at all is not unresponsive because of that: it may not know the question.
func TestAServerThatKnowsNoProbeIsLeftAlone(t *testing.T) {
	t.Parallel()
	o := lookedAt()
	o.Spec, o.Timing.ProbeTimeout = plainServer("parrot", t.TempDir()), 10*time.Millisecond
	s := begin(t, o).initialize()
	s.until("three probes were missed", func() bool {
		return s.session.Inside().Misses >= kernel.MissesToKill
	})
	if now := s.session.Upstream().Snapshot(); now.State != health.Healthy || now.ConsecutiveFailures != 0 {
		t.Errorf("%+v", now)
	}
	s.call("say", `{"answer":"\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"}`)
	s.want(event.ProbeMissed, 0)
	s.want(event.Died, 0)
}
