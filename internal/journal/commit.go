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
	maxCacheKB = 4 << 10  // pages of the connection that commits: the ends of a thousand logs
)

const insertEntry = "INSERT INTO entries (task, seq, time, kind, data, sum) VALUES (?, ?, ?, ?, ?, ?)"

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
			return 0, fmt.Errorf("entry %q of task %s has %d bytes: at most %d are stored", e.Kind, task, len(e.Data), maxDataLen)
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
	w := &writer{db: j.db, tips: map[string]tip{}}
	defer w.drop()
	pages := &checkpointer{db: j.db}
	defer pages.wait()
	for {
		var group []*request
		select {
		case r := <-j.requests:
			group = append(group, r)
		case err := <-pages.copied:
			pages.finish(err, w.conn)
			continue
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
		if err := guard(func() error { return cmp.Or(w.commit(group), j.missing()) }); err != nil {
			w.drop()
			for _, r := range group {
				r.last, r.err = 0, failure(j.path, err)
			}
		} else {
			appendHeads(j.heads, group)
		}
		for _, r := range group {
			close(r.done)
		}
		pages.note(pagesOf(group))
	}
}

// tip is the end of a task's log.
type tip struct {
	seq int
	sum checksum
}

// writer is the connection that commits. It remembers the ends of logs as long as no other
// connection writes.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	prepared
	version int64 // PRAGMA data_version when tips was valid
	tips    map[string]tip
}

// prepared are the statements of a commit.
type prepared struct{ begin, changes, lookup, insert, end *sql.Stmt }

// drop closes the connection. The next commit opens a new one.
func (w *writer) drop() {
	clear(w.tips)
	conn := w.conn
	w.conn = nil
	if conn == nil {
		return
	}
	guard(func() error {
		for _, statement := range []*sql.Stmt{w.begin, w.changes, w.lookup, w.insert, w.end} {
			statement.Close()
		}
		conn.ExecContext(context.Background(), "ROLLBACK")
		return conn.Close()
	})
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size = %d", -maxCacheKB)); err != nil {
		return errors.Join(err, conn.Close())
	}
	for text, statement := range map[string]**sql.Stmt{
		"BEGIN IMMEDIATE":     &w.begin,
		"PRAGMA data_version": &w.changes,
		"SELECT seq, sum FROM entries WHERE task = ? ORDER BY seq DESC LIMIT 1": &w.lookup,
		insertEntry: &w.insert,
		"COMMIT":    &w.end,
	} {
		if *statement, err = conn.PrepareContext(ctx, text); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	w.conn, w.version = conn, -1
	return nil
}

// commit writes the entries of all requests in one transaction. An error concerns all of them;
// that a task was continued elsewhere concerns only its own.
func (w *writer) commit(group []*request) error {
	ctx := context.Background()
	if err := w.connect(ctx); err != nil {
		return err
	}
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	var version int64
	if err := w.changes.QueryRowContext(ctx).Scan(&version); err != nil {
		return err
	}
	if version != w.version {
		clear(w.tips)
		w.version = version
	}
	for _, r := range group {
		if err := w.add(ctx, r); err != nil {
			return err
		}
	}
	_, err := w.end.ExecContext(ctx)
	return err
}

func (w *writer) add(ctx context.Context, r *request) error {
	end, known := w.tips[r.task]
	if !known {
		var sum []byte
		err := w.lookup.QueryRowContext(ctx, r.task).Scan(&end.seq, &sum)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		copy(end.sum[:], sum)
	}
	if end.seq != r.after {
		r.last, r.err = end.seq, fmt.Errorf("%w: the last entry of task %s is %d, not %d", ErrChanged, r.task, end.seq, r.after)
		return nil
	}
	for _, e := range r.entries {
		e.Seq = end.seq + 1
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		end = tip{e.Seq, sumOf(end.sum, r.task, e)}
		if _, err := w.insert.ExecContext(ctx, r.task, e.Seq, e.Time.UnixNano(), e.Kind, []byte(e.Data), end.sum[:]); err != nil {
			return err
		}
	}
	w.tips[r.task] = end
	r.last, r.err = end.seq, nil
	return nil
}
