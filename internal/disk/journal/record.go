package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/files"
)

const (
	batchDelay = time.Second // from the first event of a batch until it is written
	maxBatch   = 256         // events that are written earlier

	maxEventAge = 30 * 24 * time.Hour
	maxPruned   = 1000 // old events removed with one batch, so that no batch takes long
)

// The journal keeps the newest events: at most MaxEvents of them, and at most MaxEventBytes. The file
// is larger, by what the database needs for itself.
const (
	MaxEvents     = 200_000
	MaxEventBytes = 64 << 20
)

// Recorder writes the events of a stream to the journal, in batches and off the path of calls. If
// the disk is full or the journal cannot be used, it counts what it could not write.
type Recorder struct {
	path     string
	values   bool // record the values that gauze changed in arguments
	warn     func(error)
	warned   sync.Once
	received <-chan event.Event
	hurry    chan chan struct{} // receives who waits until everything so far is written
	stop     func()
	done     chan struct{}
	lost     atomic.Int64
	pending  atomic.Int64 // events of the batch that is gathered or written now
}

// NewRecorder writes the events of a stream, which has not emitted any yet, to the journal at path.
// warn is called once, with the first error. The values that gauze changed in arguments are recorded
// only if the user has set GAUZE_JOURNAL=values, and so is what the server printed.
func NewRecorder(path string, events *event.Stream, warn func(error)) *Recorder {
	received, stop := events.Subscribe(maxBatch)
	r := &Recorder{path: path, values: os.Getenv("GAUZE_JOURNAL") == "values", warn: warn,
		received: received, hurry: make(chan chan struct{}), stop: stop, done: make(chan struct{})}
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
	r.report(&Problem{Path: r.path, Next: "check whether another gauze process is paused or waiting for a disk",
		What: "cannot be written in time: the disk is slow, or another gauze process is writing"})
}

// Lost returns how many events are not written: those that could not be, and those that still wait.
func (r *Recorder) Lost() int { return int(r.lost.Load()+r.pending.Load()) + len(r.received) }

// Missed returns how many events could not be written so far.
func (r *Recorder) Missed() int { return int(r.lost.Load()) }

// report warns once.
func (r *Recorder) report(err error) {
	if r.warn != nil {
		r.warned.Do(func() { r.warn(err) })
	}
}

// Settle writes immediately what was emitted so far, and returns when it is written, or cannot be, or the
// limit has passed.
func (r *Recorder) Settle(limit time.Duration) {
	passed := time.After(limit)
	written := make(chan struct{})
	select {
	case r.hurry <- written:
	case <-r.done:
		return
	case <-passed:
		return
	}
	select {
	case <-written:
	case <-passed:
	}
}

// run writes a batch when it is full, when its first event is batchDelay old, when Settle asks, and
// when the stream ends.
func (r *Recorder) run() {
	defer close(r.done)
	b := &batch{next: 1}
	var due <-chan time.Time
	for open := true; open; {
		var e event.Event
		var asked chan struct{}
		select {
		case e, open = <-r.received:
			if open {
				if r.take(b, e); len(b.records) == 1 {
					due = time.After(batchDelay)
				}
				if len(b.records) < maxBatch {
					continue
				}
			}
		case asked = <-r.hurry:
			for len(r.received) > 0 && len(b.records) < 2*maxBatch {
				if e, open = <-r.received; open {
					r.take(b, e)
				}
			}
		case <-due:
		}
		r.flush(b)
		due = nil
		if asked != nil {
			close(asked)
		}
	}
}

// batch are the records that are written together.
type batch struct {
	records []Record
	next    uint64 // the number of the next event, if none is missed
	missed  int    // events that were not written since the last batch that was
}

// take adds an event to the batch.
func (r *Recorder) take(b *batch, e event.Event) {
	r.pending.Add(1)
	r.lost.Add(int64(e.Seq - b.next))
	b.missed += int(e.Seq - b.next)
	b.next = e.Seq + 1
	b.records = append(b.records, recordOf(e, os.Getpid(), r.values))
}

// flush writes the batch. What cannot be written is lost.
func (r *Recorder) flush(b *batch) {
	count := len(b.records)
	if count == 0 {
		return
	}
	first := b.records[0]
	if b.missed > 0 {
		gap := Record{Time: first.Time, Kind: Unrecorded, Server: first.Server, Gauze: first.Gauze, Count: b.missed}
		b.records = append([]Record{gap}, b.records...)
	}
	if err := guard(func() error { return write(r.path, b.records) }); err != nil {
		b.missed += count
		r.lost.Add(int64(count))
		r.report(failure(r.path, err))
	} else {
		b.missed = 0
	}
	r.pending.Add(int64(-count))
	b.records = nil
}

// write adds records to the journal at path. It opens the journal and closes it again.
func write(path string, records []Record) error {
	if err := files.CheckLimit(); err != nil {
		return &Problem{Path: path, What: "cannot be written: " + err.Error(),
			Next: "raise the limit, for example with ulimit -n 256", Err: err}
	}
	j := &Journal{path: path}
	defer j.release()
	if err := j.open(unchecked); err != nil {
		return err
	}
	last, err := insertEvents(j.db, path, records)
	if err == nil {
		j.heads.Write(headLine(timeline, last)) // only the evidence of a later loss
	}
	return err
}

// insertEvents adds records in one transaction, with the oldest ones removed that are beyond the
// limits, and returns the number of the last one.
func insertEvents(db *sql.DB, path string, records []Record) (last int, err error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	first, bytes, last, err := eventBounds(tx)
	if err != nil {
		return 0, err
	}
	last = max(last, readHead(path, timeline)) // events that were lost leave a gap, which check notices
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

// eventBounds returns the numbers of the first and last event, and how many bytes they have. Numbers
// that cannot be right are damage: pruning by them would remove events that should stay.
func eventBounds(tx *sql.Tx) (first, bytes, last int, err error) {
	err = tx.QueryRow(`SELECT f.value, b.value, (SELECT coalesce(max(seq), f.value - 1) FROM events)
		FROM meta f, meta b WHERE f.name = 'first-event' AND b.name = 'event-bytes'
			AND f.value = (SELECT coalesce(min(seq), f.value) FROM events)`).Scan(&first, &bytes, &last)
	size := MaxEventBytes
	if err == nil && bytes > size { // what the file has is an upper bound
		err = tx.QueryRow("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&size)
	}
	if err == nil && (bytes < 0 || bytes > size) {
		err = ErrDamaged
	}
	return first, bytes, last, err
}

// prune removes the oldest events: all that are beyond the limits of bytes and MaxEvents, which are
// about as many as the batch added, and some of those that are too old. The newest event stays.
func prune(tx *sql.Tx, first, bytes *int, now time.Time, limit int) error {
	oldest := now.Add(-maxEventAge).UnixNano()
	n := 0
	err := query(context.Background(), tx, func(rows *sql.Rows) error {
		var seq, size, last int
		var at int64
		if err := scan(rows, &seq, &at, &size, &last); err != nil {
			return err
		}
		if *bytes <= limit && last-seq < MaxEvents && (at >= oldest || n >= maxPruned) {
			return io.EOF
		}
		n++
		*first, *bytes = seq+1, *bytes-size
		return nil
	}, "SELECT seq, time, "+eventSize+", (SELECT max(seq) FROM events) last FROM events WHERE seq < last ORDER BY seq")
	if err != nil || n == 0 {
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
	return row{seq: seq, time: record.Time.UnixNano(), kind: string(record.Kind), server: record.Server,
		tool: record.Tool, event: text}, nil
}
