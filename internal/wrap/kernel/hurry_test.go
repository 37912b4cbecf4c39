package kernel

import (
	"context"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A client that left gets the answers that are due, unless the stop is to be immediate.
func TestHurryDoesNotWaitForAnswers(t *testing.T) {
	for _, c := range []struct {
		hurry bool
		waits time.Duration
	}{{false, time.Minute}, {true, 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{Server: upstream.Options{Spec: launch.Spec{Command: "server"}}, Words: plainly{}, Timing: Timing{FinishGrace: time.Minute}})
			s.check = nil // the call is not complete
			s.table.calls.add(&Call{id: []byte("1")})
			if c.hurry {
				s.Hurry()
				s.Hurry() // twice is once
			}
			start := time.Now()
			s.leaving.finish(t.Context())
			if waited := time.Since(start); waited != c.waits {
				t.Errorf("hurry %v: waited %v, want %v", c.hurry, waited, c.waits)
			}
			s.work.endLife()
		})
	}
}

// A client that has closed its side gets its answers whenever it reads them, until the stop is to be
// immediate.
func TestAClientThatClosedItsSideMayReadLate(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(done, gone chan struct{}, stop func())
		read bool
	}{
		{"it reads", func(done, _ chan struct{}, _ func()) { close(done) }, true},
		{"it is gone", func(_, gone chan struct{}, _ func()) { close(gone) }, false},
		{"gauze is stopped", func(_, _ chan struct{}, stop func()) { stop() }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			gone, done := make(chan struct{}), make(chan struct{})
			s := New(Options{Server: upstream.Options{Spec: launch.Spec{Command: "server"}}, Words: plainly{}, Timing: Timing{FinishGrace: -1}, ReaderGone: func(ctx context.Context) {
				select {
				case <-gone:
				case <-ctx.Done():
				}
			}})
			defer s.work.endLife()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer s.leaving.hurryWhenUnread(ctx)()
			s.leaving.finish(ctx)
			s.out.writes.Add(1) // its last answer is being written
			left := make(chan error, 1)
			go func() { left <- s.leaving.leave(done) }()
			time.Sleep(time.Hour)
			select {
			case err := <-left:
				t.Fatalf("%s: left meanwhile: %v", c.name, err)
			default:
			}
			c.end(done, gone, cancel)
			if err := <-left; (err == nil) != c.read {
				t.Errorf("%s: left with %v", c.name, err)
			}
		})
	}
}
