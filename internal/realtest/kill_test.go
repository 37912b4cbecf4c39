//go:build linux

package realtest

import (
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestKilledServerComesBack(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, p, setup{})
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
			s.wantSameTools(tools)
		})
	}
}

func TestReadsInFlightSurviveAKill(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, p, setup{})
			s.list()
			s.wantRead()

			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					a, err := s.call(s.ctx, s.server.read)
					if err != nil || a.IsError || !strings.Contains(a.Text, s.server.want) {
						t.Errorf("%s: %+v, %v", s.server.read.tool, a, err)
					}
				})
			}
			signalEach(t, s.processes(), syscall.SIGKILL)
			wg.Wait()
			s.wantRead()
		})
	}
}

func TestKilledDuringALongCall(t *testing.T) {
	for _, c := range everyClient {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{c, everything}, setup{})
			s.list()

			working := make(chan struct{})
			var once sync.Once
			killed := make(chan struct{})
			go func() {
				defer close(killed)
				select {
				case <-working:
					signalEach(t, s.processes(), syscall.SIGKILL)
				case <-s.ctx.Done():
				}
			}()
			// The server says that this tool only reads, so a second run is what the caller wants.
			text := s.must(call{
				tool:       "trigger-long-running-operation",
				args:       map[string]any{"duration": 2, "steps": 4},
				progressed: func() { once.Do(func() { close(working) }) },
			})
			if !strings.Contains(text, "completed") {
				t.Errorf("the answer is %q", text)
			}
			select {
			case <-working:
			default:
				t.Error("no progress was reported, so nothing was killed")
			}
			once.Do(func() { close(working) })
			<-killed
			s.wantRead()
		})
	}
}
