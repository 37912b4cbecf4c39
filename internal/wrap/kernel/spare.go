package kernel

import (
	"iter"
	"math"
	"sync"
)

// spare keeps answered calls, with their buffers, for the next ones: a busy session would otherwise spend
// a third of its time on allocation and garbage collection. It is not a sync.Pool, because requests and
// responses are handled on different processors, and each would find the other's part of it empty.
type spare struct {
	mu   sync.Mutex
	free []*Call
}

const (
	maxSpare     = 64
	maxSpareRoom = 64 << 10 // bytes; larger buffers are left to the garbage collector
)

// take returns an empty call.
func (s *spare) take() *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		c := s.free[last]
		s.free = s.free[:last]
		return c
	}
	return &Call{progress: math.Inf(-1)}
}

// giveBack takes a call that was answered. If others may still refer to it, only its buffer is used again.
func (s *spare) giveBack(c *Call) {
	room := c.body.room[:0]
	if c.body.room = nil; room == nil || c.class == Stream {
		return
	}
	before := c.tool
	if cap(room) > maxSpareRoom {
		room, before = nil, "" // the name may be as long
	}
	if c.isPlain() {
		*c = Call{body: body{room: room, before: before}, progress: math.Inf(-1)}
	} else {
		c = &Call{body: body{room: room}, progress: math.Inf(-1)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < maxSpare {
		s.free = append(s.free, c)
	}
}

// isPlain reports whether nothing refers to a call that was answered: it was sent once, as it came, and no
// stage was asked about more than its arrival and its end.
func (c *Call) isPlain() bool {
	return c.IsTool() && c.past.loss == nil && !c.part.shared
}

// callsByID has calls by the client's raw id. Most clients count, and a number is a key without an allocation.
type callsByID struct {
	numbers map[uint64]*Call
	others  map[string]*Call
}

func newCallsByID() callsByID {
	return callsByID{numbers: map[uint64]*Call{}, others: map[string]*Call{}}
}

// of returns the call with this id; nil: there is none.
func (m *callsByID) of(id []byte) *Call {
	if n, ok := plainNumber(id); ok {
		return m.numbers[n]
	}
	return m.others[string(id)]
}

func (m *callsByID) add(c *Call) {
	if n, ok := plainNumber(c.id); ok {
		m.numbers[n] = c
		return
	}
	m.others[string(c.id)] = c
}

func (m *callsByID) remove(id []byte) {
	if n, ok := plainNumber(id); ok {
		delete(m.numbers, n)
		return
	}
	delete(m.others, string(id))
}

func (m *callsByID) all() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, c := range m.numbers {
			if !yield(c) {
				return
			}
		}
		for _, c := range m.others {
			if !yield(c) {
				return
			}
		}
	}
}

func (m *callsByID) len() int { return len(m.numbers) + len(m.others) }
