package view

import (
	"slices"
	"sync"
	"time"
)

// wait is for answers of servers, for a limited time. The view's lock guards it.
type wait struct {
	mu     *sync.Mutex // the view's lock
	due    map[*waiters]bool
	timers []*time.Timer
	over   bool
	then   func() // called once, when it is time to go on; with the lock
}

// waiters are those that wait for the same answer of a server.
type waiters []*wait

func newWait(mu *sync.Mutex, then func()) *wait {
	return &wait{mu: mu, due: map[*waiters]bool{}, then: then}
}

// after goes on after a time, if enough says so then.
func (w *wait) after(limit time.Duration, enough func() bool) {
	w.timers = append(w.timers, time.AfterFunc(limit, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if enough() {
			w.finish()
		}
	}))
}

func always() bool { return true }

// add lets w wait for an answer as well.
func (a *waiters) add(w *wait) {
	w.due[a] = true
	*a = append(*a, w)
}

// served tells those who wait that the answer has come, or will not.
func (a *waiters) served() {
	all := *a
	*a = nil
	for _, w := range all {
		delete(w.due, a)
		w.check()
	}
}

// check goes on if nothing is due.
func (w *wait) check() {
	if len(w.due) == 0 {
		w.finish()
	}
}

// finish goes on, unless that was done or the wait has ended.
func (w *wait) finish() {
	if !w.over {
		w.end()
		w.then()
	}
}

// end ends the wait: nothing is left of it.
func (w *wait) end() {
	w.over = true
	for _, t := range w.timers {
		t.Stop()
	}
	for a := range w.due {
		*a = slices.DeleteFunc(*a, func(one *wait) bool { return one == w })
	}
	clear(w.due)
}
