package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Salvage is what was kept of a damaged journal.
type Salvage struct {
	File       string // File is the damaged journal, moved aside.
	Tasks      int    // Tasks is how many tasks were found.
	Entries    int    // Entries is how many of their entries were kept.
	Losses     []*Damage
	Events     int // Events is how many events were kept.
	LostEvents int
	Unsure     bool // Unsure means that the heads are missing, so more may be lost.
}

// String says in words what was kept and lost.
func (s *Salvage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the journal was damaged and has been repaired. Kept: %s of %s, %s.", counted(s.Entries, "entry", "entries"), counted(s.Tasks, "task", "tasks"), counted(s.Events, "event", "events"))
	for i, loss := range s.Losses {
		if i == maxNamedLosses {
			fmt.Fprintf(&b, "\nand %d more tasks", len(s.Losses)-i)
			break
		}
		fmt.Fprintf(&b, "\ntask %s lost %s", loss.Task, loss.entries())
	}
	if s.LostEvents > 0 {
		fmt.Fprintf(&b, "\n%s of the history lost", counted(s.LostEvents, "event", "events"))
	}
	switch {
	case s.Unsure:
		b.WriteString("\nWhether more is missing is not known.")
	case len(s.Losses) == 0 && s.LostEvents == 0:
		b.WriteString(" Nothing is missing.")
	}
	fmt.Fprintf(&b, "\nThe damaged file was kept as %s", s.File)
	return b.String()
}

const (
	maxNamedLosses = 10
	salvageTimeout = 5 * time.Minute
)

// maxCheckedBytes is the size of a journal that every Open checks row by row, which takes about 20 ms
// for each MB.
const maxCheckedBytes = 8 << 20

// examine checks the file. The error is broken if a row is missing and, if every row is read, if one
// is damaged. Only if alone is true can the write-ahead log be checked: otherwise a different process
// is writing it.
func examine(path string, alone, everyRow bool) error {
	if !alone {
		return examineRows(path, everyRow)
	}
	log, err := readWAL(path)
	if err == nil && log.damaged {
		err = errBroken
	}
	if err != nil {
		return err
	}
	if err = examineRows(path, everyRow); broken(err) && log.torn {
		return errors.Join(err, log.restore(path))
	}
	return err
}

// examineRows checks the file as SQLite reads it.
func examineRows(path string, everyRow bool) error {
	heads := readHeads(path)
	return guard(func() error {
		db, err := connect(path, "FULL")
		if err != nil {
			return err
		}
		defer db.Close()
		ctx := context.Background()
		if err := checkVersion(ctx, path, db); err != nil {
			return cmp.Or(brokenIfNoRows(err), err)
		}
		if err := examineLosses(ctx, db); err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil {
			return err
		} else if !everyRow && info.Size() > maxCheckedBytes {
			return countRows(ctx, db, heads)
		}
		seen, err := examineTasks(ctx, db)
		if err != nil {
			return err
		}
		for task, last := range heads {
			if task != timeline && seen[task] < last {
				return errBroken
			}
		}
		return examineEvents(ctx, db, heads[timeline])
	})
}

// brokenIfNoRows turns a row that is missing into damage.
func brokenIfNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errBroken
	}
	return nil
}

// countRows checks that no row is missing, without reading them.
func countRows(ctx context.Context, db *sql.DB, heads map[string]int) error {
	seen := map[string]int{}
	err := query(ctx, db, func(rows *sql.Rows) error {
		var task string
		var last, count int
		if err := rows.Scan(&task, &last, &count); err != nil || last != count {
			return errors.Join(errBroken, err)
		}
		seen[task] = last
		return nil
	}, `SELECT task, max(seq), count(*) FROM entries GROUP BY task
		UNION ALL SELECT '-', (SELECT value FROM meta WHERE name = 'first-event') - 1 + count(*),
			coalesce(max(seq), (SELECT value FROM meta WHERE name = 'first-event') - 1) FROM events`)
	for task, last := range heads {
		if err == nil && seen[task] < last {
			err = errBroken
		}
	}
	return err
}

// examineTasks checks the logs of all tasks and returns their lengths.
func examineTasks(ctx context.Context, db *sql.DB) (lengths map[string]int, err error) {
	lengths = map[string]int{}
	c := chain{}
	return lengths, query(ctx, db, func(rows *sql.Rows) error {
		var task string
		e, sum, err := scanEntry(rows, &task)
		if err != nil {
			return err
		}
		if task != c.task {
			c = chain{task: task}
		}
		if !c.next(e, sum) {
			return errBroken
		}
		lengths[task] = c.length
		return nil
	}, "SELECT task, seq, time, kind, data, sum FROM entries ORDER BY task, seq")
}

// examineLosses checks that what is known about earlier losses can be read.
func examineLosses(ctx context.Context, db *sql.DB) error {
	return query(ctx, db, func(rows *sql.Rows) error {
		err := rows.Scan(new(string), new(int), new(int), new(string))
		if err != nil {
			err = fmt.Errorf("%w: %w", errBroken, err) // a column of a different type
		}
		return err
	}, "SELECT task, kept, lost, file FROM losses")
}

// examineEvents checks that every event is there and intact.
func examineEvents(ctx context.Context, db *sql.DB, last int) error {
	var next int
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'first-event'").Scan(&next); err != nil {
		return cmp.Or(brokenIfNoRows(err), err)
	}
	err := query(ctx, db, func(rows *sql.Rows) error {
		row, err := scanEvent(rows)
		if err == nil && (row.seq != next || !row.intact()) {
			err = errBroken
		}
		next++
		return err
	}, selectEvents+" ORDER BY seq")
	if err == nil && next <= last {
		err = errBroken
	}
	return err
}

// salvage replaces a damaged journal with one that has all that is intact. It keeps a copy of the
// damaged file, and works on the original until the new one replaces it: if it is interrupted, the
// next Open repeats it.
func salvage(path string, alone bool) (*Salvage, error) {
	if !alone {
		return nil, &Problem{Path: path, What: "is damaged, and a different gauze process is using it",
			Next: "stop the other gauze processes (tasks, gauze top, gauze dashboard), then repeat the command: gauze then keeps what is intact", Err: errBroken}
	}
	aside, err := copyAside(path)
	if err != nil {
		return nil, err
	}
	s := &Salvage{File: aside}
	if err := repairPages(path); err != nil {
		return nil, err
	}
	heads := readHeads(path)
	s.Unsure = len(heads) == 0
	ctx, cancel := context.WithTimeout(context.Background(), salvageTimeout)
	defer cancel()
	kept := map[string]int{}
	fresh, err := build(path, func(tx *sql.Tx) error {
		old, err := connect(path, "OFF")
		if err != nil {
			return err
		}
		defer old.Close()
		old.SetMaxOpenConns(1)
		return cmp.Or(s.keepTasks(ctx, old, tx, heads, kept), s.keepEvents(ctx, old, tx, heads, kept))
	})
	if err != nil {
		return nil, err
	}
	defer os.Remove(fresh)
	if err := errors.Join(removeIfPresent(path+"-wal"), removeIfPresent(path+"-shm"), removeIfPresent(path+"-journal")); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	return s, writeHeads(path, kept)
}

// repairPages applies the intact part of the write-ahead log and restores the schema, so that the
// database can be read.
func repairPages(path string) error {
	empty, err := build(path, func(*sql.Tx) error { return nil })
	if err != nil {
		return err
	}
	defer os.Remove(empty)
	return cmp.Or(applyWAL(path), restoreFirstPage(path, empty))
}

// copyAside copies the damaged file and its write-ahead log to a new name.
func copyAside(path string) (aside string, err error) {
	aside = path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	for _, suffix := range []string{"", "-wal"} {
		if exists(path + suffix) {
			if err := copyFile(aside+suffix, path+suffix); err != nil {
				os.Remove(aside)
				os.Remove(aside + suffix)
				return "", err
			}
		}
	}
	return aside, nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// keepTasks copies the intact beginning of every log.
func (s *Salvage) keepTasks(ctx context.Context, old *sql.DB, tx *sql.Tx, heads, kept map[string]int) error {
	insert, err := tx.Prepare(insertEntry)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, task := range slices.Sorted(maps.Keys(tasksIn(ctx, old, heads))) {
		c, failed, err := copyTask(ctx, old, insert, task)
		if err != nil {
			return err
		}
		earlier := earlierLoss(ctx, old, task, c.length)
		if c.length == 0 && heads[task] == 0 && earlier == nil {
			continue // a damaged name
		}
		loss := c.damage(heads[task], failed)
		if loss == nil {
			loss = earlier
		} else {
			loss.File = s.File
			s.Losses = append(s.Losses, loss)
		}
		if loss != nil {
			if _, err := tx.Exec("INSERT INTO losses VALUES (?, ?, ?, ?)", task, loss.Kept, loss.Lost, loss.File); err != nil {
				return err
			}
		}
		s.Tasks++
		s.Entries += c.length
		if c.length > 0 {
			kept[task] = c.length
		}
	}
	return nil
}

// tasksIn returns the tasks that the heads, the rows or earlier losses name. The scans run from both
// ends, because they stop at a damaged page.
func tasksIn(ctx context.Context, old *sql.DB, heads map[string]int) map[string]bool {
	tasks := map[string]bool{}
	for task := range heads {
		tasks[task] = true
	}
	for _, from := range []string{"entries ORDER BY task", "entries ORDER BY task DESC", "losses ORDER BY task", "losses ORDER BY task DESC"} {
		query(ctx, old, func(rows *sql.Rows) error { // an error: the rest is damaged
			var task string
			err := rows.Scan(&task)
			if err == nil && checkTask(task) == nil {
				tasks[task] = true
			}
			return err
		}, "SELECT DISTINCT task FROM "+from)
	}
	delete(tasks, timeline)
	return tasks
}

// copyTask copies the intact beginning of one log. failed reports whether rows could not be read.
func copyTask(ctx context.Context, old *sql.DB, insert *sql.Stmt, task string) (c chain, failed bool, err error) {
	c = chain{task: task}
	var written error // an error of the new file, not of the damaged one
	err = query(ctx, old, func(rows *sql.Rows) error {
		e, sum, err := scanEntry(rows)
		if err == nil && c.next(e, sum) {
			_, written = insert.Exec(task, e.Seq, e.Time.UnixNano(), e.Kind, []byte(e.Data), sum)
		}
		return cmp.Or(written, err)
	}, "SELECT seq, time, kind, data, sum FROM entries WHERE task = ? ORDER BY seq", task)
	return c, err != nil, cmp.Or(written, ctx.Err())
}

// earlierLoss returns what the task had lost before, nil if nothing.
func earlierLoss(ctx context.Context, db *sql.DB, task string, length int) *Damage {
	d := &Damage{Task: task}
	err := guard(func() error {
		return db.QueryRowContext(ctx, "SELECT kept, lost, file FROM losses WHERE task = ?", task).Scan(&d.Kept, &d.Lost, &d.File)
	})
	if err != nil || d.Kept != length {
		return nil
	}
	return d
}

// keepEvents copies every intact event and numbers them again.
func (s *Salvage) keepEvents(ctx context.Context, old *sql.DB, tx *sql.Tx, heads, kept map[string]int) error {
	insertRow, err := tx.Prepare(insertEvent)
	if err != nil {
		return err
	}
	defer insertRow.Close()
	first, next, step, bytes := 0, 1, 1, 0
	old.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'first-event'").Scan(&first)
	next = max(next, min(first, heads[timeline]))
	expected := max(0, heads[timeline]-next+1)
	for next <= heads[timeline] || s.Events == 0 && step == 1 {
		begin := next
		var written error
		err := query(ctx, old, func(rows *sql.Rows) error {
			row, err := scanEvent(rows)
			if err != nil {
				return err
			}
			next = max(next, row.seq+1)
			if row.intact() && row.seq >= begin {
				s.Events++
				row.seq = s.Events
				bytes += row.size()
				written = row.insert(insertRow)
			}
			return written
		}, selectEvents+" WHERE seq >= ? ORDER BY seq", begin)
		if written != nil || ctx.Err() != nil {
			return cmp.Or(written, ctx.Err())
		}
		if err == nil {
			break
		}
		// Behind the damaged rows there may be intact ones.
		if next == begin {
			step *= 2
		} else {
			step = 1
		}
		next += step
	}
	s.LostEvents = max(0, expected-s.Events)
	if s.Events > 0 {
		kept[timeline] = s.Events
	}
	_, err = tx.Exec("UPDATE meta SET value = ? WHERE name = 'event-bytes'", bytes)
	return err
}
