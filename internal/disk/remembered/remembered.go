// Package remembered keeps on disk what servers said about themselves, and what the user has seen:
// small files that only the user can read, each under a name that reveals nothing.
package remembered

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// Shelf keeps one file for each thing. What identifies it contains secrets, so a file is named by an
// HMAC of it, under a key that stays on this machine. Errors are ignored: without a file a session
// only begins later, or the user is asked again.
type Shelf struct {
	dir  string
	most int // files that are kept
}

// In returns the shelf of servers in gauze's state directory.
func In(state string) *Shelf { return &Shelf{filepath.Join(state, "servers"), maxServers} }

// Seen returns the shelf of what the user has seen of one kind.
func Seen(state, kind string) *Shelf { return &Shelf{filepath.Join(state, "seen", kind), maxSeen} }

// Dir returns the directory of the shelf, which exists if something was ever kept.
func (s *Shelf) Dir() string { return s.dir }

// Limits on what is kept: the files that were written longest ago are removed.
const (
	maxServers = 1000
	maxSeen    = 1000
	maxBytes   = 4 << 20
	keyFile    = "key"
	keySize    = 32
	suffix     = ".json"
)

// Get returns what was kept about a thing, nil if nothing was.
func (s *Shelf) Get(whose string) []byte {
	key := s.readKey()
	if key == nil {
		return nil
	}
	file, err := os.Open(s.path(key, whose))
	if err != nil {
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil || len(content) > maxBytes {
		return nil
	}
	return content
}

// Put keeps content about a thing instead of what was kept before.
func (s *Shelf) Put(whose string, content []byte) {
	if len(content) > maxBytes || files.CheckLimit() != nil || os.MkdirAll(s.dir, 0o700) != nil {
		return
	}
	key := s.makeKey()
	if key == nil || bytes.Equal(s.Get(whose), content) {
		return
	}
	_ = Keep(s.path(key, whose), content, s.most)
}

func (s *Shelf) path(key []byte, whose string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(whose))
	return filepath.Join(s.dir, hex.EncodeToString(mac.Sum(nil)[:16])+suffix)
}

// readKey returns the key of the names, nil if there is none.
func (s *Shelf) readKey() []byte {
	key, err := os.ReadFile(filepath.Join(s.dir, keyFile))
	if err != nil || len(key) != keySize {
		return nil
	}
	return key
}

// makeKey returns the key of the names, a new one if there is none.
func (s *Shelf) makeKey() []byte {
	if key := s.readKey(); key != nil {
		return key
	}
	key := make([]byte, keySize)
	rand.Read(key) // never fails
	_ = files.Create(filepath.Join(s.dir, keyFile), key)
	return s.readKey() // another process may have made it first
}

// Keep writes a file with mode 0600 as a whole, and removes the oldest of its directory so that at
// most so many are kept. Files with other suffixes stay.
func Keep(path string, content []byte, most int) error {
	prune(filepath.Dir(path), filepath.Ext(path), most)
	return files.Swap(path, content)
}

// prune removes the oldest files until one more is not too many.
func prune(dir, suffix string, most int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		return !strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), files.Unfinished)
	})
	if len(entries) < most {
		return
	}
	written := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			written[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return written[a.Name()].Compare(written[b.Name()]) })
	for _, e := range entries[:len(entries)-most+1] {
		os.Remove(filepath.Join(dir, e.Name()))
	}
}
