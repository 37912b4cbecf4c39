package event

import (
	"sync"
	"time"
)

// Stream delivers events to its subscribers. Emit never waits for a subscriber, so a slow one
// cannot delay a call. A nil Stream discards events.
type Stream struct {
	mu          sync.Mutex
	seq         uint64
	subscribers map[chan Event]struct{}
}

// New returns a Stream without subscribers.
func New() *Stream { return &Stream{subscribers: map[chan Event]struct{}{}} }

// Emit delivers an event. It sets Seq, and Time if that is zero.
func (s *Stream) Emit(e Event) {
	if s == nil {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	e.Seq = s.seq
	for events := range s.subscribers {
		deliver(events, e)
	}
}

// deliver puts e into a subscriber's buffer, and drops the oldest event if the buffer is full. The
// caller holds the lock and is the only sender, so a place that is free stays free.
func deliver(events chan Event, e Event) {
	for {
		select {
		case events <- e:
			return
		default:
		}
		select {
		case <-events:
		default: // The subscriber was faster and made room.
		}
	}
}

// Subscribe returns the events from now on. A subscriber that falls more than buffer events behind
// misses the oldest, which shows as a gap in Seq. stop ends the subscription and closes the channel;
// it may be called more than once.
func (s *Stream) Subscribe(buffer int) (events <-chan Event, stop func()) {
	c := make(chan Event, max(1, buffer))
	if s == nil {
		return c, sync.OnceFunc(func() { close(c) })
	}
	s.mu.Lock()
	s.subscribers[c] = struct{}{}
	s.mu.Unlock()
	return c, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, c)
		close(c) // Emit holds the lock while it sends, so it never sends on a closed channel.
	})
}
