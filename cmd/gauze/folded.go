package main

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

const (
	// foldWithin is how soon a text must be repeated so that it is not written again.
	foldWithin = 10 * time.Minute
	// maxFolded is how many different texts may take turns.
	maxFolded = 4
)

// folded writes texts. One that repeats a recent one is held back, and how often that happened is
// written before the next one that is new.
type folded struct {
	write  func(text string)
	recent []spoken
}

// spoken is a text that was written, and what was held back since.
type spoken struct {
	key   string // the same for texts that repeat each other
	text  func(often string) string
	last  time.Time
	times int
	held  bool // some of them were not written
}

// say writes a text, or holds it back. text returns it, with how often it was repeated unless that is
// empty.
func (f *folded) say(key string, at time.Time, text func(often string) string) {
	i := slices.IndexFunc(f.recent, func(r spoken) bool { return r.key == key })
	if i >= 0 && at.Sub(f.recent[i].last) < foldWithin {
		f.recent[i] = spoken{key, text, at, f.recent[i].times + 1, true}
		return
	}
	f.release(at)
	if i >= 0 {
		f.recent = slices.Delete(f.recent, i, i+1)
	}
	f.recent = append(f.recent, spoken{key: key, last: at, times: 1})
	f.recent = f.recent[max(0, len(f.recent)-maxFolded):]
	f.write(text(""))
}

// release writes how often texts were repeated.
func (f *folded) release(now time.Time) {
	for i := range f.recent {
		if r := &f.recent[i]; r.held {
			f.write(r.text(timeline.Times(r.times, now.Sub(r.last))))
			r.held = false
		}
	}
}

// forget makes every text a new one.
func (f *folded) forget(now time.Time) {
	f.release(now)
	f.recent = nil
}
