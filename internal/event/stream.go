package event

import (
	"sync"
	"time"
)

// Stream is the timeline: a ring of the latest events, and a tap for whoever wants to follow. Writing never waits for a
// reader, so a slow dashboard cannot slow a call. A nil Stream is usable and remembers nothing.
type Stream struct {
	mu     sync.Mutex
	seq    uint64
	ring   []Event // grows up to its capacity, then wraps
	next   int     // where the next event goes once the ring is full
	limit  int
	counts map[Kind]uint64
	taps   map[*tap]struct{}
	lost   uint64
}

type tap struct{ events chan Event }

// defaultCapacity is some minutes of trouble, or days of peace, in about 50 KB.
const defaultCapacity = 256

// New makes a Stream that remembers the latest capacity events; 0 or less means 256.
func New(capacity int) *Stream {
	if capacity <= 0 {
		capacity = defaultCapacity
	}
	return &Stream{limit: capacity, counts: make(map[Kind]uint64), taps: make(map[*tap]struct{})}
}

// Emit adds one event. It sets Seq, and Time if that is zero. It never waits for a reader.
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
	s.counts[e.Kind]++
	if len(s.ring) < s.limit {
		s.ring = append(s.ring, e)
	} else {
		s.ring[s.next] = e
		s.next = (s.next + 1) % s.limit
	}
	for t := range s.taps {
		s.offer(t, e)
	}
}

// offer puts e into a tap, and drops the tap's oldest event if there is no room: news matters more than history, which
// Recent still has. The lock makes us the only sender, so one free place stays free until we use it.
func (s *Stream) offer(t *tap, e Event) {
	for {
		select {
		case t.events <- e:
			return
		default:
		}
		select {
		case <-t.events:
			s.lost++
		default: // the reader was quicker and made room
		}
	}
}

// Recent is a copy of what the ring remembers, oldest first.
func (s *Stream) Recent() []Event {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Event, 0, len(s.ring))
	out = append(out, s.ring[s.next:]...)
	return append(out, s.ring[:s.next]...)
}

// Subscribe follows the timeline from now on. A reader that falls more than buffer events behind loses the oldest of
// them; the gap shows in Seq and in Lost. The function it returns ends the subscription and closes the channel; it may
// be called more than once.
func (s *Stream) Subscribe(buffer int) (<-chan Event, func()) {
	t := &tap{events: make(chan Event, max(1, buffer))}
	var once sync.Once
	if s == nil {
		return t.events, func() { once.Do(func() { close(t.events) }) }
	}
	s.mu.Lock()
	s.taps[t] = struct{}{}
	s.mu.Unlock()
	return t.events, func() {
		once.Do(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.taps, t)
			close(t.events) // under the lock, so Emit can never send on it
		})
	}
}

// Count is how many events of one kind there were, also those the ring has forgotten.
func (s *Stream) Count(kind Kind) uint64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

// Lost is how many events were dropped for readers that were too slow.
func (s *Stream) Lost() uint64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}
