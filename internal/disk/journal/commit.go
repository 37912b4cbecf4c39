package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	maxGroup   = 512      // appends in one commit
	maxDataLen = 64 << 20 // bytes in one entry
)

// insertEntry adds an entry if it is the next one of its log.
const insertEntry = `INSERT OR IGNORE INTO entries (task, seq, time, kind, data, sum) SELECT ?1, ?2, ?3, ?4, ?5, ?6
	WHERE ?2 = 1 OR EXISTS (SELECT 1 FROM entries WHERE task = ?1 AND seq = ?2 - 1)`

// request is one Append.
type request struct {
	task    string
	after   int
	entries []Entry
	last    int
	err     error
	done    chan struct{}
}

// Append adds entries to the log of a task and returns the number of the last one. They are durable
// when it returns: all of them or none. The error is ErrChanged if the last entry of the log is not
// number after. Appends of several goroutines share one commit. If ctx ends first, it is unknown
// whether the entries are written.
func (j *Journal) Append(ctx context.Context, task string, after int, entries ...Entry) (last int, err error) {
	if err := checkTask(task); err != nil {
		return 0, err
	}
	for _, e := range entries {
		if len(e.Data) > maxDataLen {
			return 0, fmt.Errorf("entry %q of task %s is too large: %d bytes (limit: %d)", e.Kind, task, len(e.Data), maxDataLen)
		}
	}
	r := &request{task: task, after: after, entries: entries, done: make(chan struct{})}
	select {
	case j.requests <- r:
	case <-j.closing:
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case <-r.done:
		return r.last, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// commitAll writes requests until the journal is closed. While one commit waits for the disk, the
// next requests gather, and they are written together.
func (j *Journal) commitAll() {
	defer close(j.stopped)
	for {
		var group []*request
		select {
		case r := <-j.requests:
			group = append(group, r)
		case <-j.closing:
			return
		}
		for more := true; more && len(group) < maxGroup; {
			select {
			case r := <-j.requests:
				group = append(group, r)
			default:
				more = false
			}
		}
		err := guard(func() error { return j.commit(group) })
		var lines []byte
		for _, r := range group {
			if err != nil {
				r.last, r.err = 0, failure(j.path, err)
			} else if r.err == nil {
				lines = appendHead(lines, r.task, r.last)
			}
		}
		j.heads.Write(lines) // if it fails, only the evidence of a later loss is missing
		for _, r := range group {
			close(r.done)
		}
	}
}

// commit writes the entries of all requests in one transaction. An error concerns all of them;
// that a task was continued elsewhere concerns only its own.
func (j *Journal) commit(group []*request) (err error) {
	tx, err := j.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	defer func() {
		if err != nil {
			clear(j.tips)
		}
	}()
	insert := tx.Stmt(j.insert)
	for _, r := range group {
		if err := j.write(tx, insert, r); err != nil {
			return err
		}
	}
	return cmp.Or(tx.Commit(), j.missing())
}

// tip is the end of a task's log.
type tip struct {
	seq int
	sum checksum
}

// write adds the entries of a request to a transaction.
func (j *Journal) write(tx *sql.Tx, insert *sql.Stmt, r *request) error {
	end := j.tips[r.task]
	if end.seq != r.after {
		var sum []byte
		err := tx.QueryRow("SELECT sum FROM entries WHERE task = ? AND seq = ?", r.task, r.after).Scan(&sum)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		end.seq = r.after
		copy(end.sum[:], sum)
	}
	for _, e := range r.entries {
		end.seq++
		e.Seq = end.seq
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		end.sum = sumOf(end.sum, r.task, e)
		done, err := insert.Exec(r.task, e.Seq, e.Time.UnixNano(), e.Kind, []byte(e.Data), end.sum[:])
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, j.changed(tx, r))
		}
	}
	j.tips[r.task], r.last, r.err = end, end.seq, nil
	return nil
}

// changed fails a request that does not follow the last entry.
func (j *Journal) changed(tx *sql.Tx, r *request) error {
	delete(j.tips, r.task)
	if err := tx.QueryRow("SELECT coalesce(max(seq), 0) FROM entries WHERE task = ?", r.task).Scan(&r.last); err != nil {
		return err
	}
	r.err = fmt.Errorf("%w: the last entry of task %s is %d, not %d", ErrChanged, r.task, r.last, r.after)
	return nil
}
