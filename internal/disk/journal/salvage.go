package journal

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// Salvage is what was kept of a damaged journal.
type Salvage struct {
	File       string // the damaged journal, moved aside; empty if it was missing
	Tasks      int    // how many tasks were found
	Entries    int    // how many of their entries were kept
	Losses     []*Damage
	Events     int // how many events were kept
	LostEvents int
	Unsure     bool // the heads are missing, so more may be lost
}

// String says in words what was kept and lost.
func (s *Salvage) String() string {
	var b strings.Builder
	if s.File == "" {
		b.WriteString("the journal was missing and has been created again.")
	} else {
		b.WriteString("the journal was damaged and has been repaired.")
	}
	fmt.Fprintf(&b, " Kept: %s of %s, %s.", counted(s.Entries, "entry", "entries"), counted(s.Tasks, "task", "tasks"),
		counted(s.Events, "event", "events"))
	for i, loss := range s.Losses {
		if i == maxNamedLosses {
			fmt.Fprintf(&b, "\nand %d more tasks", len(s.Losses)-i)
			break
		}
		fmt.Fprintf(&b, "\ntask %s lost %s", loss.Task, loss.entries())
	}
	if s.LostEvents > 0 {
		fmt.Fprintf(&b, "\n%s lost from the history", counted(s.LostEvents, "event", "events"))
	}
	switch {
	case s.Unsure:
		b.WriteString("\nMore may be missing.")
	case len(s.Losses) == 0 && s.LostEvents == 0:
		b.WriteString(" Nothing is missing.")
	}
	if s.File != "" {
		fmt.Fprintf(&b, "\nThe damaged file was kept as %s", s.File)
	}
	return b.String()
}

const (
	maxNamedLosses = 10
	salvageTimeout = 5 * time.Minute
)

// salvage replaces a damaged journal with one that has all that SQL still reads, and keeps the damaged
// file and its write-ahead log under a new name. Until the new file replaces it, the damaged one stays:
// if it is interrupted, the next Open repeats it. log is a copy of the write-ahead log before SQLite
// read it. lost means that the file was missing.
func salvage(path, log string, alone, lost bool) (*Salvage, error) {
	if !alone {
		return nil, &Problem{Path: path, Err: ErrDamaged, What: "is damaged, and another gauze process is using it",
			Next: "stop the other gauze processes (tasks, gauze top, gauze dashboard), then run the command again: " +
				"gauze will repair the journal and keep the intact entries"}
	}
	heads := readHeads(path)
	s := &Salvage{File: asideName(path), Unsure: len(heads) == 0}
	if lost {
		s.File = ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), salvageTimeout)
	defer cancel()
	kept := map[string]int{}
	fresh, err := build(path, func(tx *sql.Tx) error {
		old, err := connect(path, "writable_schema(ON)") // reads also a file that is cut off
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
	if err := setAside(path, s.File, log); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	return s, files.Replace(path+headsSuffix, headLines(kept))
}

// asideName returns the name that a damaged journal gets.
func asideName(path string) string {
	return path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
}

// setAside gives the damaged file its second name, and removes what SQLite would apply to a new one.
func setAside(path, aside, log string) error {
	if aside != "" && os.Link(path, aside) != nil {
		if err := copyFile(aside, path); err != nil {
			return err
		}
	}
	if err := moveLog(path, cmp.Or(aside, asideName(path))); err != nil {
		return err
	}
	if log == "" || aside == "" {
		return nil
	}
	return os.Rename(log, aside+"-wal")
}

// copyLog copies the write-ahead log, if there is one and no other process is writing it, and returns
// the name of the copy.
func copyLog(path string, alone bool) (name string, err error) {
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 || !alone {
		return "", nil
	}
	name = path + "-wal.copy"
	return name, copyFile(name, path+"-wal")
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// keepTasks copies the intact beginning of every log.
func (s *Salvage) keepTasks(ctx context.Context, old *sql.DB, tx *sql.Tx, heads, kept map[string]int) error {
	insert, err := tx.Prepare(insertEntry)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, task := range slices.Sorted(maps.Keys(tasksIn(ctx, old, heads))) {
		var written error // an error of the new file, not of the damaged one
		c, err := readLog(ctx, old, task, func(e Entry, sum []byte) error {
			_, written = insert.Exec(task, e.Seq, e.Time.UnixNano(), e.Kind, []byte(e.Data), sum)
			return written
		})
		failed := err != nil
		if err := cmp.Or(written, ctx.Err()); err != nil {
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
	for _, from := range []string{"entries ORDER BY task", "entries ORDER BY task DESC", "losses"} {
		query(ctx, old, func(rows *sql.Rows) error { // an error: the rest is damaged
			var task string
			err := scan(rows, &task)
			if err == nil && checkTask(task) == nil {
				tasks[task] = true
			}
			return err
		}, "SELECT DISTINCT task FROM "+from)
	}
	delete(tasks, timeline)
	return tasks
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

// keepEvents copies the intact events up to a page that cannot be read, and from the last one back to
// such a page, and numbers them again.
func (s *Salvage) keepEvents(ctx context.Context, old *sql.DB, tx *sql.Tx, heads, kept map[string]int) error {
	insert, err := tx.Prepare(insertEvent)
	if err != nil {
		return err
	}
	defer insert.Close()
	first, last, bytes := 1, 0, 0 // first if that cannot be read
	old.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'first-event'").Scan(&first)
	var written error // an error of the new file, not of the damaged one
	keep := func(r row) {
		first, last = min(first, r.seq), r.seq
		s.Events++
		r.seq = s.Events
		bytes += r.size()
		written = cmp.Or(written, r.insert(insert))
	}
	intact := func(to func(row)) func(*sql.Rows) error {
		return func(rows *sql.Rows) error {
			r, err := scanEvent(rows)
			if err == nil && r.intact() && r.seq > last {
				to(r)
			}
			return cmp.Or(err, written)
		}
	}
	if query(ctx, old, intact(keep), selectEvents+" ORDER BY seq") != nil {
		var tail []row
		query(ctx, old, intact(func(r row) { tail = append(tail, r) }), selectEvents+" WHERE seq > ? ORDER BY seq DESC", last)
		for _, r := range slices.Backward(tail) {
			keep(r)
		}
	}
	first = max(1, min(first, heads[timeline]+1))
	s.LostEvents = max(0, heads[timeline]-first+1-s.Events)
	if s.Events > 0 {
		kept[timeline] = s.Events
	}
	_, err = tx.Exec("UPDATE meta SET value = ? WHERE name = 'event-bytes'", bytes)
	return cmp.Or(written, ctx.Err(), err)
}
