// Package backup changes a user's file without data loss, and can undo the change.
//
// A change is atomic and applies only to the bytes that were read:
//
//	Store.Write     lock, check, keep both versions, write a temporary file, exchange it, compare
//	Store.Hold      several of these while no other gauze process changes a file
//	Store.List      the changes, newest first
//	Store.Diff      the diff of one change; Contents: both versions
//	Store.Restore   undoes a change, which is itself a change that can be undone
//
// place.go resolves links, replace.go replaces the file, exchange.go notices if another program saved
// it at the same moment, shelf.go keeps the versions and cleans up
// after a crash.
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

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Store is a directory of backups with mode 0700 that belongs to the user.
type Store struct {
	Dir string // see DefaultDir

	held     bool              // this process has the lock: see Hold
	patience time.Duration     // lock timeout; default 30s
	reached  func(step string) // if set, called at every step of a change
}

// Change is the new content of one file.
type Change struct {
	Path   string      // the file as the user names it; if it is a link, it stays one
	Old    []byte      // the content that was read; nil if the file did not exist
	Seen   *Identity   // the file that was read; nil to compare only the content
	New    []byte      // the whole new content
	Mode   fs.FileMode // of a new file, default 0600; an existing file keeps its mode
	Within string      // directory that must contain the file after resolving links; default the directory of Path
	About  string      // one line for List
	Group  string      // equal for changes that are undone together; empty for a change of its own
	Whole  bool        // it is undone only if all changes of its group are
}

// Fingerprint identifies the change, so that consent applies to this path, old content and new
// content only.
func (c Change) Fingerprint() string {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(c.Path), []byte(c.Within), c.Old, c.New} {
		fmt.Fprintf(sum, "%t %d:", part == nil, len(part)) // keeps different changes from hashing the same bytes
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Hash returns the SHA-256 of a content in hexadecimal.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Entry is one change that was made.
type Entry struct {
	ID     string      `json:"id"` // an increasing number
	Time   time.Time   `json:"time"`
	Path   string      `json:"path"`
	Target string      `json:"target"` // the file after resolving all links
	About  string      `json:"about,omitempty"`
	Old    string      `json:"old,omitempty"` // Hash of the old content, "" if the file did not exist
	New    string      `json:"new,omitempty"` // Hash of the new content, "" if the file was removed
	Mode   fs.FileMode `json:"mode"`
	Group  string      `json:"group,omitempty"`  // equal for changes that are undone together
	Whole  bool        `json:"whole,omitempty"`  // it is undone only if all changes of its group are
	Undoes string      `json:"undoes,omitempty"` // ID of the change that this one undid
}

// Write makes a change and keeps the old content. The error is ErrConflict if the file is no longer
// what was read, ErrOutside if links lead out of Within, and ErrSame if nothing would change. After
// an error the file is unchanged.
func (s Store) Write(c Change) (Entry, error) {
	if c.New == nil {
		return Entry{}, errors.New("backup: a change requires new content; only an undo removes a file")
	}
	unlock, err := s.lock()
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	return s.write(c, "")
}

// The steps of a change. If the process dies, the file has its old content up to stepChecked and the
// new content from stepSwapped on, or what another program saved between the two.
const (
	stepLocked   = "locked"   // nothing has been done
	stepShelf    = "shelf"    // the directory of the backup exists
	stepBefore   = "before"   // it contains the old content
	stepAfter    = "after"    // and the new content
	stepKept     = "kept"     // the backup is complete and synced
	stepTemp     = "temp"     // the temporary file exists next to the target
	stepHalf     = "half"     // it contains the new content, perhaps not synced
	stepReady    = "ready"    // it is synced, with mode and owner
	stepChecked  = "checked"  // the target was still what was read
	stepSwapped  = "swapped"  // it was exchanged with the target, and what came out is not compared yet
	stepReplaced = "replaced" // it has replaced the target
	stepListed   = "listed"   // the backup is listed
)

func (s Store) reach(step string) {
	if s.reached != nil {
		s.reached(step)
	}
}

// write makes a change. The caller has the lock. If the new content is nil, the file is removed.
func (s Store) write(c Change, undoes string) (Entry, error) {
	s.reach(stepLocked)
	file, err := find(c.Path, c.Within)
	if err != nil {
		return Entry{}, err
	}
	info, err := file.checkContent(c.Old)
	if err != nil {
		return Entry{}, err
	}
	if err := file.checkIdentity(c.Seen, info); err != nil {
		return Entry{}, err
	}
	if (c.Old == nil) == (c.New == nil) && bytes.Equal(c.Old, c.New) {
		return Entry{}, &Refusal{Path: file.path, Why: "it already has this content", Err: ErrSame}
	}
	mode := c.Mode
	switch {
	case info != nil:
		mode = info.Mode()
		if err := file.checkWritable(info); err != nil {
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
			About:  redact.Text(plaintext.Clean(c.About)),
			Old:    hashOf(c.Old),
			New:    hashOf(c.New),
			Mode:   mode,
			Group:  c.Group,
			Whole:  c.Whole,
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

// hashOf is like Hash, but returns "" for no file.
func hashOf(content []byte) string {
	if content == nil {
		return ""
	}
	return Hash(content)
}

// absolute returns the path in the form in which it is stored.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(abs) {
		return "", &Refusal{Path: abs, Why: "its name is not valid UTF-8, so it cannot be backed up", Next: "edit it by hand"}
	}
	return abs, nil
}
