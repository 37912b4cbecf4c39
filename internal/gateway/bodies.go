package gateway

import (
	"sync"
	"time"
)

// Limits of the bodies in flight, over all requests.
const (
	freeBody    = 16 << 10               // of each body is not counted: small requests always get through
	bodyChunk   = 64 << 10               // that a body grows by
	bodyIdle    = 10 * time.Second       // without a byte end a body
	bodyStalled = 500 * time.Millisecond // without a byte, and a body gives way when there is no room
)

// bodies are the request bodies in flight: those being read, and those whose
// request has no response yet. What they hold is limited.
type bodies struct {
	mu sync.Mutex
	quota
	reading map[*body]bool
}

// body is one of them. Its fields are guarded by bodies.mu.
type body struct {
	who     principal
	held    int // bytes that are counted
	heard   time.Time
	evicted bool // it gave way to another body
	// until sets the time by which the next byte has to come.
	until func(time.Time)
}

func newBodies(limit int, all []principal) bodies {
	return bodies{quota: newQuota(limit, all), reading: map[*body]bool{}}
}

// open begins a body. The caller has to close it.
func (s *bodies) open(who principal, now time.Time, until func(time.Time)) *body {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &body{who: who, heard: now, until: until}
	s.reading[b] = true
	until(now.Add(bodyIdle))
	return b
}

// grow counts n more bytes that b holds. If there is no room for them, bodies
// whose clients have stopped sending give way. It reports whether b may go on.
func (s *bodies) grow(b *body, n int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !b.evicted && !s.allows(b.who, n) {
		victim := s.stalled(b, now)
		if victim == nil {
			return false
		}
		s.evict(victim, now)
	}
	if b.evicted {
		return false
	}
	b.held += n
	s.add(b.who, n)
	return true
}

// stalled returns the body that has been without a byte for the longest time
// and whose room is of use to b.
func (s *bodies) stalled(b *body, now time.Time) (victim *body) {
	for other := range s.reading {
		ofUse := other.held > 0 && (other.who == b.who || s.by[other.who] > s.part)
		if other != b && ofUse && now.Sub(other.heard) >= bodyStalled && (victim == nil || other.heard.Before(victim.heard)) {
			victim = other
		}
	}
	return victim
}

// evict ends the reading of a body. Its handler gives up what it holds as soon
// as it wakes.
func (s *bodies) evict(b *body, now time.Time) {
	b.evicted = true
	s.forget(b)
	b.until(now)
}

// progress records that something of b came, and reports whether b may go on.
func (s *bodies) progress(b *body, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.evicted {
		return false
	}
	b.heard = now
	b.until(now.Add(bodyIdle))
	return true
}

// gaveWay reports whether b had to make room for another body.
func (s *bodies) gaveWay(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.evicted
}

// complete ends the reading of b, which stays counted. It reports false if b
// gave way before.
func (s *bodies) complete(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reading, b)
	if !b.evicted {
		b.until(time.Time{}) // from here on a silent client is not at fault
	}
	return !b.evicted
}

// close ends what open began.
func (s *bodies) close(b *body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(b)
}

// forget takes b out of the table and of the count.
func (s *bodies) forget(b *body) {
	delete(s.reading, b)
	s.add(b.who, -b.held)
	b.held = 0
}
