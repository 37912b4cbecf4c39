package faultyhttp

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// event is one message to the client.
type event struct {
	data   []byte
	last   bool // it is the response
	status int  // of the HTTP response, if not 200
	name   string
	style  style
}

// style is how an event is written the first time. A resumed stream writes all events plainly.
type style int

const (
	plain   style = iota
	odd           // valid, but in a form that no server uses
	large         // padded to Config.Large
	endless       // the event never ends
	half          // half of the event, then RST
	cut           // RST in place of the event
	hangup        // the stream ends normally in place of the event
)

// maxStreamEvents limits the events that are kept for a client that does not read them.
const maxStreamEvents = 1000

// stream holds the messages of one request, or of the GET stream. The call writes it and a handler
// reads it, so that a call does not end with its connection and a different connection can resume.
type stream struct {
	id    string // empty if events have no ids
	again bool   // replay-seen: resuming repeats everything
	mute  bool   // mute-sse: resuming shows nothing

	mu     sync.Mutex
	events []event
	gone   int // number of events dropped at the front
	ended  bool
	more   chan struct{} // closed and replaced after each change
}

func newStream(id string) *stream { return &stream{id: id, more: make(chan struct{})} }

// add appends an event. The last one ends the stream; later ones are dropped.
func (t *stream) add(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.events = append(t.events, e)
	if len(t.events) > maxStreamEvents {
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

// next waits for the event with this number, or the first later one that is still kept.
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

// answer waits for the response and skips everything else.
func (t *stream) answer(ctx context.Context) (event, bool) {
	for number := 0; ; {
		e, at, ok := t.next(ctx, number)
		if !ok || e.last {
			return e, ok
		}
		number = at + 1
	}
}

// length returns the number of the next event.
func (t *stream) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone + len(t.events)
}

// eventID returns the id of an event, by which the stream can be found.
func (t *stream) eventID(number int) string {
	if t.id == "" {
		return ""
	}
	return fmt.Sprintf("%s_%d", t.id, number)
}

// splitEventID is the inverse of eventID.
func splitEventID(id string) (stream string, number int, ok bool) {
	at := strings.LastIndexByte(id, '_')
	if at < 0 {
		return "", 0, false
	}
	_, err := fmt.Sscanf(id[at:], "_%d", &number)
	return id[:at], number, err == nil
}
