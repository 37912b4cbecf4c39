package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fdlimit"
)

const (
	batchDelay = time.Second // from the first event of a batch until it is written
	maxBatch   = 256         // events that are written earlier

	maxEventAge = 30 * 24 * time.Hour
	maxPruned   = 1000 // old events removed with one batch, so that no batch takes long
)

// MaxEventBytes is how many bytes of events the journal keeps: the newest ones. The file is larger,
// by what the database needs for itself.
const MaxEventBytes = 64 << 20

// Recorder writes the events of a stream to the journal, in batches and off the path of calls. If
// the disk is full or the journal cannot be used, it counts what it could not write.
type Recorder struct {
	path     string
	values   bool // record the values that gauze changed in arguments
	warn     func(error)
	received <-chan event.Event
	hurry    chan chan struct{} // receives who waits until everything so far is written
	stop     func()
	done     chan struct{}
	mu       sync.Mutex
	lost     int
	pending  int // events of the batch that is gathered or written now
	warned   bool
}

// NewRecorder writes the events of a stream, which has not emitted any yet, to the journal at path.
// warn is called once, with the first error. The values that gauze changed in arguments are recorded
// only if the user has set GAUZE_JOURNAL=values.
func NewRecorder(path string, events *event.Stream, warn func(error)) *Recorder {
	received, stop := events.Subscribe(maxBatch)
	r := &Recorder{path: path, values: os.Getenv("GAUZE_JOURNAL") == "values", warn: warn, received: received, hurry: make(chan chan struct{}), stop: stop, done: make(chan struct{})}
	go r.run()
	return r
}

// Close writes the rest. done is closed when that is finished: a dead disk may take any time. A caller
// that does not wait for it calls Abandon.
func (r *Recorder) Close() (done <-chan struct{}) {
	r.stop()
	return r.done
}

// Abandon warns that the rest is not written, because the process exits.
func (r *Recorder) Abandon() {
	r.report(&Problem{Path: r.path, What: "cannot be written: the disk, or a different gauze process that is writing, takes too long",
		Next: "check whether that process is stopped or waiting for a disk"})
}

// Lost returns how many events are not written: those that could not be, and those that still wait.
func (r *Recorder) Lost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost + r.pending + len(r.received)
}

// Missed returns how many events could not be written so far.
func (r *Recorder) Missed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Settle writes immediately what was emitted so far, and returns when it is written, or cannot be, or the
// limit has passed.
func (r *Recorder) Settle(limit time.Duration) {
	passed := time.NewTimer(limit)
	defer passed.Stop()
	written := make(chan struct{})
	select {
	case r.hurry <- written:
	case <-r.done:
		return
	case <-passed.C:
		return
	}
	select {
	case <-written:
	case <-r.done:
	case <-passed.C:
	}
}

func (r *Recorder) run() {
	defer close(r.done)
	next := uint64(1) // the number of the next event, if none is missed
	missed := 0       // events that were not written since the last batch that was
	var asked waiting
	for {
		first, open := r.next(&asked)
		if !open {
			return
		}
		var batch []Record
		take := func(e event.Event) {
			r.count(int(e.Seq-next), 1)
			missed += int(e.Seq - next)
			next = e.Seq + 1
			batch = append(batch, recordOf(e, os.Getpid(), r.values))
		}
		take(first)
		r.gather(&asked, take)
		count := len(batch)
		if missed > 0 {
			batch = append([]Record{{Time: first.Time, Kind: Unrecorded, Server: batch[0].Server, Gauze: os.Getpid(), Count: missed}}, batch...)
		}
		if err := guard(func() error { return write(r.path, batch) }); err != nil {
			missed += count
			r.count(count, -count)
			r.report(failure(r.path, err))
			continue
		}
		r.count(0, -count)
		missed = 0
	}
}

// waiting are those who wait until everything is written.
type waiting []chan struct{}

func (w *waiting) release() {
	for _, written := range *w {
		close(written)
	}
	*w = nil
}

// next waits for the next event, and releases those who ask while there is none.
func (r *Recorder) next(asked *waiting) (first event.Event, open bool) {
	for {
		if len(r.received) == 0 {
			asked.release()
		}
		select {
		case first, open = <-r.received:
			return first, open
		case written := <-r.hurry:
			*asked = append(*asked, written)
		}
	}
}

// gather takes events until the batch is due or full, Settle waits for it, or the stream ends.
func (r *Recorder) gather(asked *waiting, take func(event.Event)) {
	due := time.NewTimer(batchDelay)
	defer due.Stop()
	for n := 1; n < maxBatch; {
		if len(*asked) > 0 && len(r.received) == 0 {
			return
		}
		select {
		case e, open := <-r.received:
			if !open {
				return
			}
			take(e)
			n++
		case written := <-r.hurry:
			*asked = append(*asked, written)
		case <-due.C:
			return
		}
	}
}

// count adds to the events that are lost and to those that are pending.
func (r *Recorder) count(lost, pending int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += lost
	r.pending += pending
}

// report warns once.
func (r *Recorder) report(err error) {
	r.mu.Lock()
	first := !r.warned
	r.warned = true
	r.mu.Unlock()
	if first && r.warn != nil {
		r.warn(err)
	}
}

// write adds records to the journal at path. It opens the journal and closes it again.
func write(path string, records []Record) (err error) {
	if err := fdlimit.Check(); err != nil {
		return &Problem{Path: path, What: "is not written: " + err.Error(), Next: "raise the limit, such as with ulimit -n 256", Err: err}
	}
	if err := prepare(path); err != nil {
		return err
	}
	use, alone, err := acquire(path)
	if err != nil {
		return err
	}
	defer use.Close()
	defer compactHeads(path, use) // after the database is closed
	if err := create(path); err != nil {
		return err
	}
	if alone {
		// SQLite would drop a damaged end, and with it the evidence.
		if log, err := readWAL(path); err != nil || log.damaged {
			return cmp.Or(err, errBroken)
		}
		if err := share(use); err != nil {
			return err
		}
	}
	db, err := connect(path, "FULL")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	last, err := insertEvents(db, path, records)
	if err != nil {
		return err
	}
	heads, err := openHeads(path)
	if err != nil {
		return err
	}
	heads.Write(headLine(timeline, last)) // only the evidence of a later loss
	return heads.Close()
}

// insertEvents adds records in one transaction, with the oldest ones removed that are beyond the
// limits, and returns the number of the last one.
func insertEvents(db *sql.DB, path string, records []Record) (last int, err error) {
	ctx := context.Background()
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := checkVersion(ctx, path, tx); err != nil {
		return 0, cmp.Or(brokenIfNoRows(err), err)
	}
	var first, bytes int
	for name, value := range map[string]*int{"first-event": &first, "event-bytes": &bytes} {
		if err := tx.QueryRow("SELECT value FROM meta WHERE name = ?", name).Scan(value); err != nil {
			return 0, cmp.Or(brokenIfNoRows(err), err)
		}
	}
	if err := tx.QueryRow("SELECT coalesce(max(seq), ?) FROM events", first-1).Scan(&last); err != nil {
		return 0, err
	}
	insert, err := tx.Prepare(insertEvent)
	if err != nil {
		return 0, err
	}
	defer insert.Close()
	for _, record := range records {
		last++
		row, err := rowOf(last, record)
		if err != nil {
			return 0, err
		}
		if err := row.insert(insert); err != nil {
			return 0, err
		}
		bytes += row.size()
	}
	if err := prune(tx, &first, &bytes, time.Now(), MaxEventBytes); err != nil {
		return 0, err
	}
	for name, value := range map[string]int{"first-event": first, "event-bytes": bytes} {
		if _, err := tx.Exec("UPDATE meta SET value = ? WHERE name = ?", value, name); err != nil {
			return 0, err
		}
	}
	return last, tx.Commit()
}

// prune removes the oldest events: all that are beyond the limit of bytes, which are about as many
// bytes as the batch added, and some of those that are too old. The newest event stays.
func prune(tx *sql.Tx, first, bytes *int, now time.Time, limit int) error {
	rows, err := tx.Query("SELECT seq, time, " + eventSize + " FROM events WHERE seq < (SELECT max(seq) FROM events) ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close()
	oldest := now.Add(-maxEventAge).UnixNano()
	for n := 0; rows.Next(); n++ {
		var seq, size int
		var at int64
		if err := rows.Scan(&seq, &at, &size); err != nil {
			return err
		}
		if *bytes <= limit && (at >= oldest || n >= maxPruned) {
			break
		}
		*first, *bytes = seq+1, *bytes-size
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return err
	}
	_, err = tx.Exec("DELETE FROM events WHERE seq < ?", *first)
	return err
}

// rowOf returns a record as a row.
func rowOf(seq int, record Record) (row, error) {
	record.Seq = seq
	text, err := json.Marshal(record)
	if err != nil {
		return row{}, fmt.Errorf("an event cannot be stored: %w", err)
	}
	return row{seq: seq, time: record.Time.UnixNano(), kind: string(record.Kind), server: record.Server, tool: record.Tool, event: text}, nil
}
