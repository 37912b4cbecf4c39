package faultyserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// errCancelled is the cause of a context that ended because the client cancelled the request.
var errCancelled = errors.New("cancelled by the client")

// inflight tracks the requests that can still be cancelled. Ids are compared as raw bytes, and a
// client may use the same id for two requests at the same time.
type inflight struct {
	mu  sync.Mutex
	all map[string][]*flight
}

type flight struct{ cancel context.CancelCauseFunc }

func newInflight() *inflight { return &inflight{all: map[string][]*flight{}} }

// open returns the context of a request and a function to call when it has been served.
func (f *inflight) open(parent context.Context, id json.RawMessage) (ctx context.Context, close func()) {
	ctx, cancel := context.WithCancelCause(parent)
	one := &flight{cancel: cancel}
	key := string(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[key] = append(f.all[key], one)
	return ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		cancel(nil)
		f.all[key] = slices.DeleteFunc(f.all[key], func(o *flight) bool { return o == one })
		if len(f.all[key]) == 0 {
			delete(f.all, key)
		}
	}
}

func (f *inflight) cancel(id json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all[string(id)] {
		one.cancel(errCancelled)
	}
}

// asks tracks the requests that this server sent to its client and that have no response yet.
type asks struct {
	mu   sync.Mutex
	last int
	all  map[string]chan string
}

func newAsks() *asks { return &asks{all: map[string]chan string{}} }

// open registers a request to the client. Ids that are not given count from 1, as those of clients
// do, so that they collide on purpose.
func (a *asks) open(id json.RawMessage) (json.RawMessage, chan string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == nil {
		a.last++
		id, _ = json.Marshal(a.last)
	}
	answer := make(chan string, 1)
	a.all[string(id)] = answer
	return id, answer
}

// resolve passes the client's response to the tool that is waiting for it, if any.
func (a *asks) resolve(m *message) {
	a.mu.Lock()
	answer := a.all[string(m.ID)]
	delete(a.all, string(m.ID))
	a.mu.Unlock()
	if answer == nil {
		return
	}
	if m.Error != nil {
		answer <- `{"error":` + string(m.Error) + `}`
		return
	}
	answer <- `{"result":` + string(m.Result) + `}`
}
