package main

import (
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// waiting says at a terminal what is waited for, if it takes longer than a second, until done is called.
func waiting(cmd *cobra.Command, quiet bool, what string) (done func()) {
	return terminal.Wait(cmd.ErrOrStderr(), quiet, what)
}

// pausable makes show safe for several goroutines. After pause, it drops what it is given until resume
// is called: a line of progress would replace a question. It does not wait, because servers are tested
// meanwhile.
func pausable(show func(line string)) (shown func(line string), pause func() (resume func())) {
	var mu sync.Mutex
	questions := 0
	shown = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if questions == 0 {
			show(line)
		}
	}
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		questions += n
	}
	return shown, func() func() {
		shown("")
		count(1)
		return func() { count(-1) }
	}
}

// paused pauses the progress while agree asks the user. It returns nil if agree is nil.
func paused(pause func() func(), agree func(*fleet.Server, fleet.Offer) bool) func(*fleet.Server, fleet.Offer) bool {
	if agree == nil {
		return nil
	}
	return func(s *fleet.Server, o fleet.Offer) bool {
		defer pause()()
		return agree(s, o)
	}
}

// aroundQuestions is pausable and paused for one question.
func aroundQuestions(show func(string), agree func(*fleet.Server, fleet.Offer) bool) (func(string), func(*fleet.Server, fleet.Offer) bool) {
	shown, pause := pausable(show)
	return shown, paused(pause, agree)
}

// checklist is the progress of several checks: how many are done, and the first one that is not. It
// may be used by several goroutines.
type checklist struct {
	show  func(line string)
	names []string

	mu   sync.Mutex
	done []bool
	said []string // what was last said about each
}

// newChecklist begins to show the progress of the checks of what has these names.
func newChecklist(show func(line string), names []string) *checklist {
	c := &checklist{show: show, names: names, done: make([]bool, len(names)), said: make([]string, len(names))}
	c.draw()
	return c
}

// say notes what the check at an index is doing.
func (c *checklist) say(i int, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said[i] = what
	c.draw()
}

// finish notes that the check at an index is done.
func (c *checklist) finish(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[i] = true
	c.draw()
}

// draw shows the first check that is not done.
func (c *checklist) draw() {
	number, next := 0, -1
	for i, done := range c.done {
		if done {
			number++
		} else if next < 0 {
			next = i
		}
	}
	if next < 0 {
		return
	}
	line := "waiting for " + c.names[next]
	if c.said[next] != "" {
		line = c.names[next] + ": " + c.said[next]
	}
	if len(c.names) > 1 {
		line = fmt.Sprintf("%d of %d checked; %s", number, len(c.names), line)
	}
	c.show(line)
}
