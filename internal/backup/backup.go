// Package backup changes a file of somebody else's so that nothing is lost, with a way back.
//
// A change is made as a whole or not at all, and only to the bytes that were read:
//
//	Store.Write     lock, look, keep both versions, write a file beside it, look again, put it in place
//	Store.List      what was changed, newest first
//	Store.Diff      what one change did; Contents: with all it is made of
//	Store.Restore   the way back, itself a change that can be taken back
//
// place.go finds the file behind the links, replace.go puts the new one in its place, shelf.go keeps the versions and
// settles what a crash left behind.
package backup

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Store is where backups are kept: a folder of mode 0700 that belongs to the user.
type Store struct {
	Dir string // DefaultDir says which

	patience time.Duration     // for the lock; 10 s unless set
	reached  func(step string) // told of every step of a change
}

// Change is what is to become of one file.
type Change struct {
	Path   string      // the file as a person names it; it may be a link, which stays one
	Old    []byte      // exactly what was read; nil if there was no file
	Seen   *Identity   // which file was read; nil if only its content counts
	New    []byte      // all of what it is to be
	Mode   fs.FileMode // of a file that is created: 0600 unless set. An existing file keeps its own
	Within string      // the file itself must lie in this folder, wherever links lead; "" is the folder of Path
	About  string      // one line for the list
	Group  string      // equal for changes that are undone together; empty for a change of its own
}

// Fingerprint is what consent is bound to: this content in place of that one, in this file.
func (c Change) Fingerprint() string {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(c.Path), []byte(c.Within), c.Old, c.New} {
		fmt.Fprintf(sum, "%t %d:", part == nil, len(part)) // no two changes run together to the same bytes
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Hash names a content.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Entry is one change that was made.
type Entry struct {
	ID     string      `json:"id"` // a number, counted up
	Time   time.Time   `json:"time"`
	Path   string      `json:"path"`
	Target string      `json:"target"` // the file itself, behind all links
	About  string      `json:"about,omitempty"`
	Old    string      `json:"old,omitempty"` // Hash of the content before, "" if there was no file
	New    string      `json:"new,omitempty"` // Hash of the content after, "" if it was removed
	Mode   fs.FileMode `json:"mode"`
	Group  string      `json:"group,omitempty"`  // equal for changes that are undone together
	Undoes string      `json:"undoes,omitempty"` // the ID of the change this one took back
}

// Write makes the change and keeps what was there. If the file is not what was read any more, the error is ErrConflict;
// if links lead out of Within, ErrOutside; if there is nothing to change, ErrSame. After an error the file is as it was.
func (s Store) Write(c Change) (Entry, error) {
	if c.New == nil {
		return Entry{}, errors.New("backup: a change needs a new content; only the way back removes a file")
	}
	unlock, err := s.lock()
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	return s.write(c, "")
}

// The steps of a change. A process may die at any of them: the file is then old up to stepReady, and new from
// stepReplaced on.
const (
	stepLocked   = "locked"   // nothing is done yet
	stepShelf    = "shelf"    // the folder for the backup is there
	stepBefore   = "before"   // it holds the old content
	stepAfter    = "after"    // and the new
	stepKept     = "kept"     // the backup is complete and on disk
	stepTemp     = "temp"     // an empty file lies beside the target
	stepHalf     = "half"     // it holds the new content, perhaps not on disk yet
	stepReady    = "ready"    // it is on disk, with mode and owner
	stepReplaced = "replaced" // it has taken the target's place
	stepListed   = "listed"   // the backup is in the list
)

func (s Store) reach(step string) {
	if s.reached != nil {
		s.reached(step)
	}
}

// write makes a change under the lock. No new content removes the file.
func (s Store) write(c Change, undoes string) (Entry, error) {
	s.reach(stepLocked)
	file, err := find(c.Path, c.Within)
	if err != nil {
		return Entry{}, err
	}
	info, err := file.mustBe(c.Old)
	if err != nil {
		return Entry{}, err
	}
	if err := file.mustBeSeen(c.Seen, info); err != nil {
		return Entry{}, err
	}
	if (c.Old == nil) == (c.New == nil) && bytes.Equal(c.Old, c.New) {
		return Entry{}, &Refusal{Path: file.path, Why: "it is like that already", Err: ErrSame}
	}
	mode := c.Mode
	switch {
	case info != nil:
		mode = info.Mode()
		if err := file.mustYield(info); err != nil {
			return Entry{}, err
		}
	case mode == 0:
		mode = 0o600
	}
	kept := record{
		Entry: Entry{
			Time:   time.Now().UTC(),
			Path:   file.path,
			Target: file.real,
			About:  fault.Redact(fault.Clean(c.About)),
			Old:    hashOf(c.Old),
			New:    hashOf(c.New),
			Mode:   mode,
			Group:  c.Group,
			Undoes: undoes,
		},
		Temp: tempPrefix + rand.Text()[:12] + ".tmp",
	}
	if err := s.keep(&kept, c.Old, c.New); err != nil {
		return Entry{}, err
	}
	if err := s.replace(file, info, c, kept); err != nil {
		s.drop(kept.ID)
		return Entry{}, err
	}
	s.reach(stepReplaced)
	s.enter(kept)
	s.reach(stepListed)
	s.prune()
	return kept.Entry, nil
}

// hashOf tells no file from an empty one.
func hashOf(content []byte) string {
	if content == nil {
		return ""
	}
	return Hash(content)
}

// absolute is the path in the form it is kept in.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(abs) {
		return "", &Refusal{Path: abs, Why: "its name is not valid UTF-8, so no backup could say where it belongs", Next: "change it by hand"}
	}
	return abs, nil
}
