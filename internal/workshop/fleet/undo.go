package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// Reversal undoes one change and those that were made together with it. It is shown before it is
// applied.
type Reversal struct {
	backup.Entry
	Diff  string // what the undo would change, without secrets
	group []backup.Entry
}

// Reversal returns what undoing a change would do.
func (f *Fleet) Reversal(id string) (r Reversal, err error) {
	if r.group, err = f.Group(id); err != nil {
		return r, err
	}
	var diff strings.Builder
	for _, e := range r.group {
		entry, before, after, err := f.Store.Contents(e.ID)
		if err != nil {
			return r, err
		}
		if e.ID == id {
			r.Entry = entry
		}
		diff.WriteString(f.difference(entry, after, before))
	}
	r.Diff = diff.String()
	return r, nil
}

// Consent returns a token for exactly this reversal.
func (r Reversal) Consent() string {
	sum := sha256.New()
	for _, e := range r.group {
		fmt.Fprintf(sum, "undo %s %s %s %s %s\n", e.ID, e.Path, e.Target, e.Old, e.New)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

// Undo applies a reversal if consent is for exactly this one and the files did not change since.
func (f *Fleet) Undo(r Reversal, consent string) ([]backup.Entry, error) {
	if consent != r.Consent() {
		return nil, ErrConsent
	}
	return f.Revert(r.ID, false)
}

// Group returns a change and those that were made together with it, newest first.
func (f *Fleet) Group(id string) (group []backup.Entry, err error) {
	one, _, _, err := f.Store.Contents(id)
	if err != nil || one.Group == "" {
		return []backup.Entry{one}, err
	}
	all, err := f.Store.List()
	for _, e := range all {
		if e.Group == one.Group {
			group = append(group, e)
		}
	}
	return group, err
}

// Revert undoes a change and those that were made together with it. It overwrites files that
// changed since only if force is set; the others are restored in any case, unless their plan was whole.
func (f *Fleet) Revert(id string, force bool) (made []backup.Entry, err error) {
	group, err := f.Group(id)
	if err != nil {
		return nil, err
	}
	var refused []error
	name := groupOf(len(group))
	for _, e := range group {
		entry, err := f.Store.RestoreIn(name, e.ID, force)
		switch {
		case errors.Is(err, backup.ErrSame) && len(group) > 1: // restored before
		case err != nil && e.Whole:
			return nil, errors.Join(err, f.takeBack(made))
		case err != nil:
			refused = append(refused, err)
		default:
			made = append(made, entry)
		}
	}
	return made, errors.Join(refused...)
}

// takeBack undoes changes of a plan of which another could not be made.
func (f *Fleet) takeBack(made []backup.Entry) (err error) {
	name := groupOf(len(made))
	for _, e := range slices.Backward(made) {
		_, failed := f.Store.RestoreIn(name, e.ID, false)
		err = errors.Join(err, failed)
	}
	return err
}

// groupOf returns a new name for a group of n changes. A single change needs none.
func groupOf(n int) string {
	if n < 2 {
		return ""
	}
	return rand.Text()
}
