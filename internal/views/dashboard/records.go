package dashboard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// maxRecords is how many of the newest events are kept in memory.
const maxRecords = 20_000

// records are the newest events of the journal, which is read as it grows. The journal is opened
// when it exists, and never created.
type records struct {
	path string

	mu sync.Mutex // guards everything below
	read

	judging  bool // verdicts was called before
	judgedTo int  // the number of the last event in which verdicts looked for verdicts
}

// read is what was read from a journal.
type read struct {
	journal *journal.Journal
	file    os.FileInfo // of the journal that is open
	all     []journal.Record
	cut     bool // older events exist that are not in all

	items   []timeline.Item // of the events up to the number itemsTo
	itemsTo int

	week worth
}

// timeline returns the items of the newest events, newest last. The slice must not be changed.
func (r *records) timeline(ctx context.Context) ([]timeline.Item, error) {
	all, err := r.newest(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := all[len(all)-1].Seq; last != r.itemsTo {
		r.items, r.itemsTo = timeline.Items(all), last
	}
	return r.items, nil
}

// newest returns the newest events, newest last. The slice must not be changed.
func (r *records) newest(ctx context.Context) ([]journal.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open, err := r.open(); err != nil || !open {
		return nil, err
	}
	q := journal.Query{Limit: maxRecords}
	if n := len(r.all); n > 0 {
		q.After = r.all[n-1].Seq
	}
	added, err := r.journal.Events(ctx, q)
	if err != nil {
		return nil, err
	}
	// A new slice: pages still read the old one.
	r.all = append(slices.Clip(r.all), added...)
	if n := len(r.all); n >= maxRecords {
		r.all, r.cut = r.all[n-maxRecords:], true
	}
	return r.all, nil
}

// open opens the journal if it exists, again if the file was replaced.
func (r *records) open() (bool, error) {
	file, err := os.Stat(r.path)
	if r.journal != nil && (err != nil || !os.SameFile(file, r.file)) {
		r.journal.Close()
		r.read = read{}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || r.journal != nil {
		return err == nil, err
	}
	if r.journal, err = journal.Open(r.path); err != nil {
		return false, err
	}
	r.file, err = os.Stat(r.path)
	return err == nil, err
}

// worth returns what counts of the week before now.
func (r *records) worth(ctx context.Context, now time.Time) (worth, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open, err := r.open(); err != nil || !open {
		return worth{}, err
	}
	err := r.week.read(ctx, r.journal.Events, now)
	return r.week, err
}

// verdicts returns the verdicts of tasks that were recorded since it was last called, none the first
// time.
func (r *records) verdicts(ctx context.Context) (added []journal.Record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.judging
	defer func() { r.judging = r.judging || err == nil }()
	open, err := r.open()
	if err != nil || !open {
		return nil, err
	}
	last, err := r.journal.Events(ctx, journal.Query{Limit: 1})
	if err != nil || len(last) == 0 {
		return nil, err
	}
	end := last[0].Seq
	if end < r.judgedTo { // a new journal
		r.judgedTo = 0
	}
	if !first && end > r.judgedTo {
		added, err = r.journal.Events(ctx, journal.Query{Kind: event.Judged, After: r.judgedTo})
	}
	if err != nil {
		return nil, err
	}
	for _, a := range added {
		end = max(end, a.Seq)
	}
	r.judgedTo = end
	return added, nil
}

// isCut reports whether older events exist than those that newest returns.
func (r *records) isCut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut
}

func (r *records) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal != nil {
		r.journal.Close()
		r.read = read{}
	}
}

// journalPath is where the events of a state directory are.
func journalPath(dir string) string { return filepath.Join(dir, journal.FileName) }
