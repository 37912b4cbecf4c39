package gateway

import (
	"sync"
	"time"
)

// Limits on the bodies in flight, over all requests.
const (
	uncountedBytes  = 16 << 10               // not counted per body, so that small requests always get through
	chunkSize       = 64 << 10               // how much a body grows by
	bodyIdleTimeout = 10 * time.Second       // longest time without a byte
	stalledTimeout  = 500 * time.Millisecond // time without a byte after which a body may be evicted to free memory
)

// bodies tracks the request bodies in flight: those being read, and those whose request has no
// response yet. It limits the memory they use.
type bodies struct {
	mu sync.Mutex
	quota
	reading map[*body]bool
}

// body is a request body in flight. Its fields are guarded by bodies.mu.
type body struct {
	who      principal
	held     int // bytes that are counted
	lastByte time.Time
	evicted  bool // it was evicted in favor of a different body
	// until sets the deadline for the next byte.
	until func(time.Time)
}

func newBodies(q quota) bodies {
	return bodies{quota: q, reading: map[*body]bool{}}
}

// open begins a body. The caller must close it.
func (s *bodies) open(who principal, now time.Time, until func(time.Time)) *body {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &body{who: who, lastByte: now, until: until}
	s.reading[b] = true
	until(now.Add(bodyIdleTimeout))
	return b
}

// grow counts n more bytes that b holds. If that exceeds the limit, bodies whose clients have
// stopped sending are evicted. It reports whether b may continue.
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

// stalled returns the body that has been without a byte for the longest time and whose memory b
// could use.
func (s *bodies) stalled(b *body, now time.Time) (victim *body) {
	for other := range s.reading {
		ofUse := other != b && other.held > 0 && s.yields(other.who, b.who)
		longer := victim == nil || other.lastByte.Before(victim.lastByte)
		if ofUse && longer && now.Sub(other.lastByte) >= stalledTimeout {
			victim = other
		}
	}
	return victim
}

// evict ends the reading of a body. Its handler releases the memory as soon as it wakes.
func (s *bodies) evict(b *body, now time.Time) {
	b.evicted = true
	s.forget(b)
	b.until(now)
}

// progress records that bytes of b arrived, and reports whether b may continue.
func (s *bodies) progress(b *body, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.evicted {
		return false
	}
	b.lastByte = now
	b.until(now.Add(bodyIdleTimeout))
	return true
}

// wasEvicted reports whether b was evicted.
func (s *bodies) wasEvicted(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.evicted
}

// complete ends the reading of b, which stays counted. It returns false if b was evicted.
func (s *bodies) complete(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reading, b)
	if !b.evicted {
		b.until(time.Time{}) // from here on a silent client is not at fault
	}
	return !b.evicted
}

// close releases what open began.
func (s *bodies) close(b *body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(b)
}

// forget removes b from the table and from the count.
func (s *bodies) forget(b *body) {
	delete(s.reading, b)
	s.add(b.who, -b.held)
	b.held = 0
}
