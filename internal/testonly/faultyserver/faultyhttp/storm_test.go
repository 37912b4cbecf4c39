package faultyhttp

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// In a storm, what was answered was executed once, nothing was executed twice, and nothing happens
// after a kill.
func TestKillsAndEffectsNeverOverlap(t *testing.T) {
	s := start(t, Config{Answers: JSON})
	var answered, lost atomic.Int64
	over := make(chan struct{})
	var clients sync.WaitGroup
	for client := range 4 {
		p := newPeer(t, s)
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				key := fmt.Sprintf("%d-%d", client, i)
				got := p.call("append", `{"key":"`+key+`"}`)
				if got.err != nil {
					lost.Add(1)
					continue
				}
				if answered.Add(1); got.status != 200 {
					t.Errorf("%s: %v", key, got)
				}
			}
		})
	}
	for range 20 {
		// Do some work between two kills, so that there are calls to interrupt.
		for want := answered.Load() + 10; answered.Load() < want; {
			runtime.Gosched()
		}
		s.Stop()
		before, _ := s.Entries()
		runtime.Gosched()
		if after, _ := s.Entries(); len(after) != len(before) {
			t.Errorf("%d effects after a kill", len(after)-len(before))
		}
		if err := s.StartAgain(); err != nil {
			t.Fatal(err)
		}
	}
	close(over)
	clients.Wait()
	effects := s.Effects()
	for key, n := range effects {
		if n != 1 {
			t.Errorf("%s was executed %d times", key, n)
		}
	}
	if executed := int64(len(effects)); executed < answered.Load() || executed > answered.Load()+lost.Load() {
		t.Errorf("%d answered, %d lost, %d executed", answered.Load(), lost.Load(), executed)
	}
}
