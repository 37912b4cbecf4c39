package faultyhttp

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// event is one message on its way to the client.
type event struct {
	data   []byte
	last   bool // it is the answer
	status int  // of the HTTP response, if it is not 200
	name   string
	style  style
}

// style is how an event is written the first time. A resumed stream writes all events plainly.
type style int

const (
	plain   style = iota
	odd           // legal, but as no server writes it
	large         // padded to Config.Large
	endless       // the event never ends
	half          // half of it, then RST
	cut           // RST instead
	hangup        // the stream ends instead, as if all had been said
)

// streamMost bounds what is kept for a client that never comes.
const streamMost = 1000

// stream is what is said in answer to one request, or on the GET stream. The call writes it, a handler reads it: so
// a call does not end when its connection does, and another connection can go on reading.
type stream struct {
	id    string // empty: events have no ids
	again bool   // replay-seen: who resumes gets everything once more

	mu     sync.Mutex
	events []event
	gone   int // events dropped at the front
	ended  bool
	more   chan struct{} // closed and replaced when something changed
}

func newStream(id string) *stream { return &stream{id: id, more: make(chan struct{})} }

// add appends an event. The last one ends the stream; what comes after it is dropped.
func (t *stream) add(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.events = append(t.events, e)
	if len(t.events) > streamMost {
		t.events = t.events[1:]
		t.gone++
	}
	t.ended = e.last
	t.wake()
}

func (t *stream) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.wake()
}

func (t *stream) wake() {
	close(t.more)
	t.more = make(chan struct{})
}

// next waits for the event with this number, or the next one that is still there.
func (t *stream) next(ctx context.Context, number int) (e event, at int, ok bool) {
	for {
		t.mu.Lock()
		number = max(number, t.gone)
		i, more, ended := number-t.gone, t.more, t.ended
		if i < len(t.events) {
			e = t.events[i]
			t.mu.Unlock()
			return e, number, true
		}
		t.mu.Unlock()
		if ended {
			return event{}, number, false
		}
		select {
		case <-more:
		case <-ctx.Done():
			return event{}, number, false
		}
	}
}

// answer waits for the answer and skips all else.
func (t *stream) answer(ctx context.Context) (event, bool) {
	for number := 0; ; {
		e, at, ok := t.next(ctx, number)
		if !ok || e.last {
			return e, ok
		}
		number = at + 1
	}
}

// length is the number of the event that comes next.
func (t *stream) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone + len(t.events)
}

// eventID names an event so that the stream can be found again by it.
func (t *stream) eventID(number int) string {
	if t.id == "" {
		return ""
	}
	return fmt.Sprintf("%s_%d", t.id, number)
}

// splitEventID is the reverse.
func splitEventID(id string) (stream string, number int, ok bool) {
	at := strings.LastIndexByte(id, '_')
	if at < 0 {
		return "", 0, false
	}
	_, err := fmt.Sscanf(id[at:], "_%d", &number)
	return id[:at], number, err == nil
}
