package backup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// Diff returns the diff of one change.
func (s Store) Diff(id string) (Entry, string, error) {
	e, before, after, err := s.Contents(id)
	if err != nil {
		return Entry{}, "", err
	}
	return e, Unified(e.Path, before, after), nil
}

// Contents returns the file before and after a change; nil means no file.
func (s Store) Contents(id string) (e Entry, before, after []byte, err error) {
	unlock, err := s.lock()
	if err != nil {
		return Entry{}, nil, nil, err
	}
	defer unlock()
	if e, err = s.entry(id); err == nil {
		before, err = s.content(e, beforeName, e.Old)
	}
	if err == nil {
		after, err = s.content(e, afterName, e.New)
	}
	if err != nil {
		return Entry{}, nil, nil, err
	}
	return e, before, after, nil
}

// Restore undoes a change. That is itself a change that can be undone. If another program changed
// other parts of the file later, those stay. If the same part was changed, the error is ErrConflict,
// unless force is set.
func (s Store) Restore(id string, force bool) (Entry, error) { return s.RestoreIn("", id, force) }

// RestoreIn is Restore as a part of a group of changes.
func (s Store) RestoreIn(group, id string, force bool) (Entry, error) {
	unlock, err := s.lock()
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	e, err := s.entry(id)
	if err != nil {
		return Entry{}, err
	}
	before, err := s.content(e, beforeName, e.Old)
	if err != nil {
		return Entry{}, err
	}
	file, err := find(e.Path, filepath.Dir(e.Target))
	if err != nil {
		return Entry{}, err
	}
	if file.real != e.Target {
		return Entry{}, &Refusal{
			Path: e.Path, Target: file.real, Err: ErrConflict,
			Why:  "it is a link that now points to another file; nothing was written",
			Next: "the content before the change is in " + s.in(e.ID, beforeName),
		}
	}
	now, _, err := file.read()
	if err != nil {
		return Entry{}, err
	}
	if current := hashOf(now); current != e.Old && current != e.New && !force {
		ours, refused := s.changedSince(e, current)
		after, err := s.content(e, afterName, e.New)
		merged, ok := takeOut(before, after, now)
		if err != nil || ours || !ok {
			return Entry{}, refused
		}
		before = merged
	}
	about := "undo of " + e.ID
	if e.About != "" {
		about += ": " + e.About
	}
	return s.write(Change{Path: e.Path, Old: now, New: before, Mode: e.Mode, Within: filepath.Dir(e.Target), About: about, Group: group, Whole: e.Whole}, e.ID)
}

// takeOut returns the current content of a file with one change taken out. It returns false unless what
// the change made is there exactly once, with what was around it.
func takeOut(before, after, now []byte) ([]byte, bool) {
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	for _, around := range []int{32, 12} { // bytes; what is next to the change may be different now
		head, tail := max(0, head-around), max(0, tail-around)
		made, was := after[head:len(after)-tail], before[head:len(before)-tail]
		if before != nil && len(made) > 0 && bytes.Count(now, made) == 1 {
			return bytes.Replace(now, made, was, 1), true
		}
	}
	return nil, false
}

// changedSince explains what changed the file after the change to undo, and reports whether gauze did.
func (s Store) changedSince(e Entry, current string) (ours bool, err error) {
	r := &Refusal{Path: e.Path, Err: ErrConflict}
	entries, _ := s.list()
	var later []string
	for _, other := range entries { // newest first
		if other.ID == e.ID {
			break
		}
		if other.Target == e.Target {
			ours = ours || len(later) == 0 && other.New == current
			later = append(later, other.ID)
		}
	}
	force := fmt.Sprintf("to see change %[1]s: gauze undo --diff %[1]s; to undo it anyway, with a backup of the current content: gauze undo %[1]s --force", e.ID)
	if ours {
		r.Why = fmt.Sprintf("gauze changed it again after change %s (%s); it was left as it is", e.ID, strings.Join(later, ", "))
		r.Next = fmt.Sprintf("to undo the newest change first: gauze undo %s; %s", later[0], force)
		return true, r
	}
	r.Why = fmt.Sprintf("another program changed it after change %s; it was left as it is", e.ID)
	r.Next = force
	return false, r
}
