package faultyserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// errCancelled is why the context of a request ended when the client did not want the answer any more.
var errCancelled = errors.New("cancelled by the client")

// inflight knows which requests can still be cancelled. Ids are compared as raw bytes.
type inflight struct {
	mu  sync.Mutex
	all map[string]context.CancelCauseFunc
}

func newInflight() *inflight { return &inflight{all: map[string]context.CancelCauseFunc{}} }

func (f *inflight) open(ctx context.Context, id json.RawMessage) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[string(id)] = cancel
	return ctx
}

func (f *inflight) close(id json.RawMessage)  { f.end(id, nil) }
func (f *inflight) cancel(id json.RawMessage) { f.end(id, errCancelled) }

func (f *inflight) end(id json.RawMessage, why error) {
	f.mu.Lock()
	cancel := f.all[string(id)]
	delete(f.all, string(id))
	f.mu.Unlock()
	if cancel != nil {
		cancel(why)
	}
}

// asks are the requests this server sent to its client and that have no answer yet.
type asks struct {
	mu   sync.Mutex
	last int
	all  map[string]chan string
}

func newAsks() *asks { return &asks{all: map[string]chan string{}} }

// open registers a question. Without an id it counts from 1, which is what clients do too: the ids collide on
// purpose.
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

// resolve hands the client's answer to the tool that asked; an answer nobody waits for is dropped.
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
