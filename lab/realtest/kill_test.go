//go:build linux

package realtest

import (
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestKilledServerComesBack(t *testing.T) {
	for _, p := range some(t, oneOfEach(t, everyPair()), 3) {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, p, setup{})
			s.wantEra(p.era())
			tools := s.list()
			s.wantRead()
			first := s.processes()

			s.killAll()
			s.wantRead()
			if second := s.processes(); second[0].pid == first[0].pid {
				t.Error("the server was killed and is the same process")
			}

			s.killInnermost()
			s.wantRead()

			s.killUnderReads()
			s.wantRead()
			s.wantSameTools(tools)
		})
	}
}

// killUnderReads kills the server while twenty reads are on their way; each of them must succeed.
func (s *session) killUnderReads() {
	s.t.Helper()
	s.settleTools()
	server := s.processes()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			a, err := s.call(s.ctx, s.server.read)
			if err != nil || a.IsError || !strings.Contains(a.Text, s.server.want) {
				s.t.Errorf("%s: %+v, %v", s.server.read.tool, a, err)
			}
		})
	}
	signalEach(s.t, server, syscall.SIGKILL)
	wg.Wait()
}

// settleTools returns when the server has nothing more to announce about its tools. Until they are listed again, a
// server that has just announced others gives no licence to repeat a call. Some announce them in answer to
// initialized: that is before their answer to the first list, and the second is sent after it.
func (s *session) settleTools() {
	s.t.Helper()
	s.list()
	s.list()
}

func TestKilledDuringALongCall(t *testing.T) {
	for _, c := range some(t, eachLibrary, 4) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{c, everything}, setup{})
			s.settleTools()
			server := s.processes()

			var once sync.Once
			// The server says that this tool only reads, so a second run is what the caller wants.
			text := s.must(call{
				tool:       "trigger-long-running-operation",
				args:       map[string]any{"duration": 1, "steps": 4},
				progressed: func() { once.Do(func() { signalEach(t, server, syscall.SIGKILL) }) },
			})
			once.Do(func() { t.Error("no progress was reported, so nothing was killed") })
			if !strings.Contains(text, "completed") {
				t.Errorf("the answer is %q", text)
			}
			s.wantRead()
		})
	}
}
