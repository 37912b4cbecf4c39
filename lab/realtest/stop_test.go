//go:build linux

package realtest

import (
	"syscall"
	"testing"
)

func TestStoppedServerIsReplaced(t *testing.T) {
	for _, p := range half(t, oneOfEach(t, mostPairs())) {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, p, setup{options: watchful})
			tools := s.list()
			s.wantRead()

			stopped := s.processes()
			signalEach(t, stopped, syscall.SIGSTOP)
			s.wantRead()
			if left := gone(s.ctx, stopped); len(left) > 0 {
				t.Errorf("the stopped server was left behind: %v", left)
			}
			s.wantSameTools(tools)
		})
	}
}

// A long call is not a hang: what answers probes is left alone.
func TestBusyServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := open(t, pair{goSDK, everything}, setup{options: strict})
	s.list()
	before := s.processes()
	a, err := s.call(s.ctx, call{
		tool:       "trigger-long-running-operation",
		args:       map[string]any{"duration": 5, "steps": 10}, // longer than the limit, with progress more often
		progressed: func() {},
	})
	if err != nil || a.IsError {
		t.Errorf("%+v, %v", a, err)
	}
	if after := s.processes(); after[0].pid != before[0].pid {
		t.Error("a server that was busy was restarted")
	}
}

// What a stopped server was sent and never read is sent to the next one. It is continued to be ended, and may come
// to the call before that: then the outcome is unknown. The effect happens once at most, and a success is one.
func TestEffectSentToAStoppedServerHappensOnce(t *testing.T) {
	t.Parallel()
	s := open(t, pair{goSDK, memory}, setup{options: watchful, launch: witnessed})
	s.list()
	s.wantRead()
	signalEach(t, s.processes(), syscall.SIGSTOP)
	a, err := s.call(s.ctx, remember("unread"))
	if err != nil || a.IsError && !a.saysUnknown() {
		t.Fatalf("%+v, %v", a, err)
	}
	if arrived, kept := s.at.arrivals(t, "unread"), s.at.remembered(t, "unread"); arrived > 1 || kept > 1 || !a.IsError && kept != 1 {
		t.Errorf("the call reached the server %d times, its effect is there %d times, and the answer is %+v", arrived, kept, a)
	}
}
