package backup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/rogpeppe/go-internal/robustio"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// A backup is a directory that users can read without gauze. Damage to one does not affect the
// others.
//
//	17/entry.json   the Entry
//	17/before       the content before the change; missing if the file did not exist
//	17/after        the content after it; missing if the file was removed
//
// During the change the directory is called 17.pending. It is complete before the file is changed.
const (
	entryName  = "entry.json"
	beforeName = "before"
	afterName  = "after"
	pending    = ".pending"
)

// record is an entry as stored.
type record struct {
	Entry
	Temp string `json:"temp,omitempty"` // name of the temporary file next to the target
}

func (s Store) in(names ...string) string { return filepath.Join(append([]string{s.Dir}, names...)...) }

// lock excludes all other gauze processes of this user and cleans up after crashed ones. There is
// one lock for all files, because changes are rare and short, and numbering and pruning need it
// anyway.
func (s Store) lock() (unlock func(), err error) {
	if s.held {
		return func() {}, nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, s.storeError(err)
	}
	if info, err := os.Stat(s.Dir); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(s.Dir, 0o700); err != nil { // it belongs to a different user
			return nil, s.storeError(err)
		}
	}
	type answer struct {
		file *lockedfile.File
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		file, err := lockedfile.OpenFile(s.in("lock"), os.O_RDWR|os.O_CREATE, 0o600)
		got <- answer{file, err}
	}()
	patience := time.NewTimer(cmp.Or(s.patience, 30*time.Second))
	defer patience.Stop()
	select {
	case a := <-got:
		if a.err != nil {
			return nil, s.storeError(a.err)
		}
		s.settle()
		return func() { a.file.Close() }, nil
	case <-patience.C:
		go func() {
			if a := <-got; a.file != nil {
				a.file.Close()
			}
		}()
		return nil, &Refusal{Path: s.Dir, Why: "another gauze process has held the lock for too long",
			Next: "check whether that process is paused or waiting for a disk, then run the command again"}
	}
}

// Hold waits until no other gauze process changes a file, and keeps them waiting until release is
// called. Its result is the store to use until then: what was read meanwhile is changed only by
// programs that do not know this lock.
func (s Store) Hold() (held Store, release func(), err error) {
	release, err = s.lock()
	s.held = true
	return s, release, err
}

// storeError reports a problem with the store itself.
func (s Store) storeError(err error) error {
	return &Refusal{
		Path: s.Dir,
		Why:  "backups cannot be stored here (" + files.Reason(err) + "), and gauze does not change a file without a backup",
		Next: "check this directory's owner, permissions and free space, or set GAUZE_STATE_DIR to another directory",
		Err:  err,
	}
}

// keep stores both contents under the next number.
func (s Store) keep(r *record, before, after []byte) error {
	numbers, _, err := s.numbers()
	if err != nil {
		return s.storeError(err)
	}
	last := 0
	if len(numbers) > 0 {
		last = slices.Max(numbers)
	}
	r.ID = strconv.Itoa(last + 1)
	if err := s.fill(*r, before, after); err != nil {
		s.drop(r.ID)
		return s.storeError(err)
	}
	s.reach(stepKept)
	return nil
}

func (s Store) fill(r record, before, after []byte) error {
	folder := s.in(r.ID + pending)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	s.reach(stepShelf)
	if before != nil {
		if err := writeNew(filepath.Join(folder, beforeName), before); err != nil {
			return err
		}
	}
	s.reach(stepBefore)
	if after != nil {
		if err := writeNew(filepath.Join(folder, afterName), after); err != nil {
			return err
		}
	}
	s.reach(stepAfter)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	// The entry is written last and atomically: a directory without one belongs to a change that
	// had not begun.
	if err := files.Create(filepath.Join(folder, entryName), append(text, '\n')); err != nil {
		return err
	}
	files.SyncDir(s.Dir)
	return nil
}

// writeNew creates a file and syncs it.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return cmp.Or(err, f.Sync(), f.Close())
}

// drop removes the backup of a change that was not made. It removes the entry first, without which
// the rest is ignored.
func (s Store) drop(id string) {
	os.Remove(s.in(id+pending, entryName))
	robustio.RemoveAll(s.in(id + pending))
}

// enter lists a change that was made. If that fails it stays pending until the next call of settle.
func (s Store) enter(r record) {
	robustio.Rename(s.in(r.ID+pending), s.in(r.ID))
	files.SyncDir(s.Dir)
}

// settle completes or drops the changes of processes that died.
func (s Store) settle() {
	_, unsettled, err := s.numbers()
	if err != nil {
		return
	}
	for _, n := range unsettled {
		id := strconv.Itoa(n)
		r, err := s.load(id + pending)
		if errors.Is(err, fs.ErrNotExist) {
			s.drop(id)
			continue
		}
		if err != nil {
			continue // damaged, and perhaps made: List reports it
		}
		switch made, err := r.tidy(); {
		case err != nil: // keep the record that the files are ours
		case made:
			s.enter(r)
		default:
			s.drop(id)
		}
	}
}

// tidy removes what a process that died left next to the target, and reports whether its change was
// made.
func (r record) tidy() (made bool, err error) {
	if !isTemp(r.Temp) {
		return r.made(), nil
	}
	if back, err := r.recover(); back || err != nil {
		return false, err
	}
	made = r.made()
	for _, ours := range []string{r.temp(), r.beside()} {
		if err := os.Remove(ours); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return made, err
		}
	}
	return made, nil
}

// made reports whether the file was replaced before the process died. As long as the new file is
// next to it, it was not. In doubt it was: an extra backup does no harm.
func (r record) made() bool {
	now, out := hashAt(r.Target), hashAt(r.beside())
	switch {
	case now == r.New || out != "" && out == r.Old:
		return true
	case out != "" || hashAt(r.temp()) != "":
		return false
	}
	return now != r.Old
}

// numbers returns all numbers in use and those that are pending.
func (s Store) numbers() (all, unsettled []int, err error) {
	items, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range items {
		name, waits := strings.CutSuffix(item.Name(), pending)
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 || strconv.Itoa(n) != name {
			continue
		}
		all = append(all, n)
		if waits {
			unsettled = append(unsettled, n)
		}
	}
	return all, unsettled, nil
}

// load reads the entry of a backup.
func (s Store) load(folder string) (record, error) {
	text, err := os.ReadFile(s.in(folder, entryName))
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, errors.New("its entry is damaged") // the JSON error would quote the content
	}
	if r.ID != strings.TrimSuffix(folder, pending) || !filepath.IsAbs(r.Path) || !filepath.IsAbs(r.Target) || r.Old == r.New {
		return record{}, errors.New("its entry is damaged")
	}
	return r, nil
}

// content reads one side of a change and verifies its hash.
func (s Store) content(e Entry, name, hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	content, err := os.ReadFile(s.in(e.ID, name))
	if err == nil && Hash(content) != hash {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return nil, &Refusal{Path: s.in(e.ID, name), Why: "this backup cannot be used: " + files.Reason(err), Next: "to list the others, run: gauze undo", Err: err}
	}
	return content, nil
}

// List returns the changes, newest first. It skips entries that cannot be read and reports them in
// the error, which may accompany a result.
func (s Store) List() ([]Entry, error) {
	if _, err := os.Lstat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.list()
}

func (s Store) list() ([]Entry, error) {
	numbers, unsettled, err := s.numbers()
	if err != nil {
		return nil, s.storeError(err)
	}
	slices.SortFunc(numbers, func(a, b int) int { return b - a })
	var entries []Entry
	var damaged []error
	for _, n := range numbers {
		folder := strconv.Itoa(n)
		if slices.Contains(unsettled, n) {
			folder += pending
		}
		r, err := s.load(folder)
		if err == nil && slices.Contains(unsettled, n) {
			err = errors.New("it is unknown whether this change was made")
		}
		if err != nil {
			damaged = append(damaged, &Refusal{Path: s.in(folder), Why: "this backup cannot be read: " + files.Reason(err),
				Next: "inspect the files in this directory, and remove it if you do not need them", Err: err})
			continue
		}
		entries = append(entries, r.Entry)
	}
	return entries, errors.Join(damaged...)
}

// entry returns the entry with this number.
func (s Store) entry(id string) (Entry, error) {
	n, err := strconv.Atoi(id)
	if err == nil && n > 0 && strconv.Itoa(n) == id {
		r, err := s.load(id)
		if err == nil {
			return r.Entry, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Entry{}, &Refusal{Path: s.in(id), Why: "this backup cannot be read: " + files.Reason(err), Next: "to list the others, run: gauze undo", Err: err}
		}
	}
	return Entry{}, &Refusal{Path: s.Dir, Why: fmt.Sprintf("unknown change %q", id), Next: "to list the changes, run: gauze undo", Err: ErrUnknown}
}

// prune removes old backups. If it fails, the next change tries again.
func (s Store) prune() {
	entries, _ := s.list()
	for _, e := range surplus(entries, s.size, keptPerFile, maxTotalBytes) {
		// With this name, settle removes what is left of it after a crash.
		if os.Rename(s.in(e.ID), s.in(e.ID+pending)) == nil {
			s.drop(e.ID)
		}
	}
}

const (
	keptPerFile   = 50
	maxTotalBytes = 256 << 20
)

func (s Store) size(e Entry) int64 {
	var sum int64
	for _, name := range []string{beforeName, afterName} {
		if info, err := os.Lstat(s.in(e.ID, name)); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// surplus selects the entries to remove from a list with the newest first: all but the last perFile
// of each file, then the oldest until the rest is small enough. It keeps the newest entry and the
// first one of every file, which has the content before gauze ever changed it.
func surplus(entries []Entry, size func(Entry) int64, perFile int, bytes int64) []Entry {
	first := map[string]string{}
	for _, e := range entries {
		first[e.Target] = e.ID
	}
	var gone, rest []Entry
	count := map[string]int{}
	var sum int64
	for _, e := range entries {
		if count[e.Target]++; count[e.Target] > perFile && first[e.Target] != e.ID {
			gone = append(gone, e)
			continue
		}
		rest = append(rest, e)
		sum += size(e)
	}
	for i := len(rest) - 1; i > 0 && sum > bytes; i-- {
		if e := rest[i]; first[e.Target] != e.ID {
			gone = append(gone, e)
			sum -= size(e)
		}
	}
	return gone
}
