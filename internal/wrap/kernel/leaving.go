package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// leaving is how a session ends.
type leaving struct {
	s       *Session
	closing bool
	ended   bool          // every call has its answer, and new ones are rejected
	emptied chan struct{} // made once the client has left; closed when no answer is due
	hurried chan struct{} // closed by hurry
	hurry   func()
}

// leave waits for done. A blocked write to a client that does not read its end cannot be
// interrupted, so it is not waited for once the server is certainly gone. A client that closed its side
// reads when it likes, unless FinishGrace limits that.
func (l *leaving) leave(done <-chan struct{}) error {
	look := time.NewTicker(upstream.MaxStopTime)
	defer look.Stop()
	if l.emptied != nil && l.s.config.Timing.FinishGrace < 0 {
		select {
		case <-done:
			return nil
		case <-l.hurried:
		}
	}
	for {
		select {
		case <-done:
			return nil
		case now := <-look.C:
			if l.s.out.stuck(now) {
				return errors.New("the client is not reading its responses")
			}
			look.Reset(time.Second)
		}
	}
}

// finish waits for the answers that are still due, for FinishGrace at most and as long as they have a
// reader. The server reads the end of its input meanwhile.
func (l *leaving) finish(ctx context.Context) {
	l.s.update(func() {
		l.emptied = make(chan struct{})
		l.checkEmptied()
	})
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if l.s.config.Timing.FinishGrace > 0 {
		waiting, cancel = context.WithTimeout(waiting, l.s.config.Timing.FinishGrace)
		defer cancel()
	}
	select {
	case <-l.emptied:
	case <-l.s.out.failed:
		l.s.Hurry()
	case <-l.hurried:
	case <-waiting.Done():
	}
}

// hurryWhenUnread calls Hurry once the answers have no reader, or ctx has ended, until stop is called.
func (l *leaving) hurryWhenUnread(ctx context.Context) (stop func()) {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if l.s.config.ReaderGone != nil {
		go func() {
			if l.s.config.ReaderGone(waiting); waiting.Err() == nil {
				l.s.Hurry()
			}
		}()
	}
	asked := context.AfterFunc(ctx, l.s.Hurry)
	return func() {
		asked()
		cancel()
	}
}

// endInput lets the server read the end of its input, once the client has left and everything that it sent
// was passed on. The caller holds the lock.
func (l *leaving) endInput() {
	if l.s.link.conn != nil && len(l.s.table.queue) == 0 && l.s.table.keeps.all == 0 {
		l.s.link.conn.EndInput()
	}
}

// mute reports whether nothing more can be sent to the server. The caller holds the lock.
func (l *leaving) mute() bool { return l.closing || l.s.link.conn != nil && l.s.link.conn.InputEnded() }

// checkEmptied closes emptied if no answer is due. The answer to an open stream never is.
func (l *leaving) checkEmptied() {
	if l.emptied == nil {
		return
	}
	for c := range l.s.table.calls.all() {
		if !c.open() {
			return
		}
	}
	l.s.up.Last()
	if l.s.work.placed > 0 {
		return
	}
	select {
	case <-l.emptied:
	default:
		close(l.emptied)
	}
}

// Hurry makes a stop under way kill the server without waiting for it to exit, or for answers that
// are due.
func (s *Session) Hurry() {
	s.leaving.hurry()
	s.up.Hurry()
}

// abandonAll answers what is left when the session ends.
func (l *leaving) abandonAll() {
	l.s.update(func() {
		l.ended = true
		for c := range l.s.table.calls.all() {
			f := &fault.Fault{Code: fault.Stopping, Delivery: deliveryOf(c)}
			if c.state == sent { // over HTTP it may have continued after its session
				f.Delivery = fault.Unknown
			}
			l.s.fail(c, f)
		}
	})
}
