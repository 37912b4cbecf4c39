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
)

// A backup is a folder, so that a person finds everything without us, and what is damaged is damaged alone:
//
//	17/entry.json   the Entry
//	17/before       the content before the change; missing if there was no file
//	17/after        the content after it; missing if the file was removed
//
// While the change is under way the folder is called 17.pending. It is complete before the file is touched.
const (
	entryName  = "entry.json"
	beforeName = "before"
	afterName  = "after"
	pending    = ".pending"
)

// record is an entry as it is kept.
type record struct {
	Entry
	Temp string `json:"temp,omitempty"` // the name of the file beside the target, until that has taken its place
}

func (s Store) in(names ...string) string { return filepath.Join(append([]string{s.Dir}, names...)...) }

// lock keeps every other gauze of this user out, and settles what a dead one left behind. There is one lock for all
// files: changes are rare and short, and numbers and pruning need it anyway.
func (s Store) lock() (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, s.trouble(err)
	}
	if info, err := os.Stat(s.Dir); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(s.Dir, 0o700); err != nil { // it is somebody else's folder
			return nil, s.trouble(err)
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
	patience := time.NewTimer(cmp.Or(s.patience, 10*time.Second))
	defer patience.Stop()
	select {
	case a := <-got:
		if a.err != nil {
			return nil, s.trouble(a.err)
		}
		s.settle()
		return func() { a.file.Close() }, nil
	case <-patience.C:
		go func() {
			if a := <-got; a.file != nil {
				a.file.Close()
			}
		}()
		return nil, &Refusal{Path: s.Dir, Why: "another gauze is changing files and does not come to an end",
			Next: "see whether one is stopped or waits for a disk, and repeat the command"}
	}
}

// trouble is an error with the store itself.
func (s Store) trouble(err error) error {
	return &Refusal{
		Path: s.Dir,
		Why:  "backups cannot be kept here (" + reason(err) + "), and without one nothing is changed",
		Next: "see to the owner, the permissions and the room of this folder, or set GAUZE_STATE_DIR to another one",
		Err:  err,
	}
}

// keep puts both contents on the shelf, under the next number.
func (s Store) keep(r *record, before, after []byte) error {
	numbers, _, err := s.numbers()
	if err != nil {
		return s.trouble(err)
	}
	last := 0
	if len(numbers) > 0 {
		last = slices.Max(numbers)
	}
	r.ID = strconv.Itoa(last + 1)
	if err := s.fill(*r, before, after); err != nil {
		s.drop(r.ID)
		return s.trouble(err)
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
	// The entry comes last and as a whole: a folder without one is of a change that had not begun.
	unfinished := filepath.Join(folder, entryName+".tmp")
	if err := writeNew(unfinished, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(unfinished, filepath.Join(folder, entryName)); err != nil {
		return err
	}
	syncDir(folder)
	syncDir(s.Dir)
	return nil
}

// writeNew writes a file of ours to the disk.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// drop forgets a change that was not made. The entry goes first: without it the rest is nothing.
func (s Store) drop(id string) {
	os.Remove(s.in(id+pending, entryName))
	robustio.RemoveAll(s.in(id + pending))
}

// enter lists a change that was made. If that fails it stays pending, and whoever comes next settles it.
func (s Store) enter(r record) {
	robustio.Rename(s.in(r.ID+pending), s.in(r.ID))
	syncDir(s.Dir)
}

// settle decides about changes whose process died: it was made, or nothing of it is left.
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
			continue // damaged, and perhaps made: List tells of it
		}
		made := r.made()
		temp := filepath.Join(filepath.Dir(r.Target), r.Temp)
		if isTemp(r.Temp) {
			if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
				continue // as long as it lies there, remember that it is ours
			}
		}
		if made {
			s.enter(r)
		} else {
			s.drop(id)
		}
	}
}

// made tells whether the file was replaced before the process died. The file we put beside it takes the other's place,
// so while it is there the other was not replaced. In doubt it was: a backup too many does no harm.
func (r record) made() bool {
	now, _, err := place{r.Path, r.Target}.read()
	if err == nil && hashOf(now) == r.New {
		return true
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(r.Target), r.Temp)); err == nil {
		return false
	}
	return err != nil || hashOf(now) != r.Old
}

// numbers are those in use, and of these the ones still pending.
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

// load reads the entry in a folder.
func (s Store) load(folder string) (record, error) {
	text, err := os.ReadFile(s.in(folder, entryName))
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, errors.New("its entry is damaged") // json quotes what it read
	}
	if r.ID != strings.TrimSuffix(folder, pending) || !filepath.IsAbs(r.Path) || !filepath.IsAbs(r.Target) || r.Old == r.New {
		return record{}, errors.New("its entry is damaged")
	}
	return r, nil
}

// content reads one side of a change, and does not hand out what is no longer what was kept.
func (s Store) content(e Entry, name, hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	content, err := os.ReadFile(s.in(e.ID, name))
	if err == nil && Hash(content) != hash {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return nil, &Refusal{Path: s.in(e.ID, name), Why: "this backup cannot be used: " + reason(err), Next: "see the others with: gauze undo", Err: err}
	}
	return content, nil
}

// List is what was changed, newest first. Entries that cannot be read are left out and named in the error, which comes
// beside the others and not in their stead.
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
		return nil, s.trouble(err)
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
			err = errors.New("it is not known whether this change was made")
		}
		if err != nil {
			damaged = append(damaged, &Refusal{Path: s.in(folder), Why: "this backup cannot be read: " + reason(err),
				Next: "look at the files in it, and remove the folder if you do not need them", Err: err})
			continue
		}
		entries = append(entries, r.Entry)
	}
	return entries, errors.Join(damaged...)
}

// entry is the one with this number.
func (s Store) entry(id string) (Entry, error) {
	n, err := strconv.Atoi(id)
	if err == nil && n > 0 && strconv.Itoa(n) == id {
		r, err := s.load(id)
		if err == nil {
			return r.Entry, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Entry{}, &Refusal{Path: s.in(id), Why: "this backup cannot be read: " + reason(err), Next: "see the others with: gauze undo", Err: err}
		}
	}
	return Entry{}, &Refusal{Path: s.Dir, Why: fmt.Sprintf("there is no change %q", id), Next: "see which there are with: gauze undo", Err: ErrUnknown}
}

// prune removes what is more than anybody will look for. It may fail; there is a next time.
func (s Store) prune() {
	entries, _ := s.list()
	for _, e := range surplus(entries, s.size, keptPerFile, keptBytes) {
		// By this name, what is left of it after a crash is no damage but something to be settled.
		if os.Rename(s.in(e.ID), s.in(e.ID+pending)) == nil {
			s.drop(e.ID)
		}
	}
}

const (
	keptPerFile = 50
	keptBytes   = 256 << 20
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

// surplus chooses what goes, out of entries with the newest first: all but the last few of each file, then the oldest
// until the rest is small enough. The newest stays, and so does the first of every file: it holds what the file was before
// we ever touched it.
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
