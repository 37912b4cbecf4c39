package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one entry of a task's log. Entries are never changed or removed one by one.
type Entry struct {
	Seq  int // counts from 1 in each task; Append sets it
	Time time.Time
	Kind string
	Data json.RawMessage
}

// Head is the last entry of a task.
type Head struct {
	Task string
	Last Entry
}

// Damage is what is missing from a task's log. It is an error, and comes with the intact entries.
type Damage struct {
	Task string
	Kept int    // the last intact entry before the loss
	Lost int    // how many later entries are known to have existed; at least 1
	File string // the damaged journal, if it was moved aside
}

func (d *Damage) Error() string {
	text := fmt.Sprintf("the log of task %s is damaged: %s %s missing", d.Task, d.entries(), plural(d.Lost, "is", "are"))
	if d.File != "" {
		text += "; the damaged file was kept as " + d.File
	}
	return text
}

// entries says which entries are missing.
func (d *Damage) entries() string {
	switch {
	case d.Kept > 0:
		return fmt.Sprintf("%s after entry %d", counted(d.Lost, "entry", "entries"), d.Kept)
	case d.Lost == 1:
		return "its only entry"
	}
	return fmt.Sprintf("all %d entries", d.Lost)
}

func counted(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// checksum is the checksum of a row. It covers the previous one.
type checksum [16]byte

// sumOf returns the checksum of an entry that follows the one with the checksum before.
func sumOf(before checksum, task string, e Entry) (sum checksum) {
	h := sha256.New()
	h.Write(before[:])
	for _, part := range [][]byte{[]byte(task), []byte(e.Kind), e.Data} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(e.Seq)))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(e.Time.UnixNano())))
	copy(sum[:], h.Sum(nil))
	return sum
}

// chain checks the rows of one task, in order.
type chain struct {
	task   string
	last   checksum
	length int
	beyond int // rows after the first that is missing or damaged: none of them counts
}

// next adds a row and reports whether it is intact.
func (c *chain) next(e Entry, sum []byte) bool {
	if e.Seq <= c.length {
		return false // an older copy, which a damaged database may show again
	}
	want := sumOf(c.last, c.task, e)
	if c.beyond > 0 || e.Seq != c.length+1 || string(sum) != string(want[:]) {
		c.beyond++
		return false
	}
	c.last, c.length = want, e.Seq
	return true
}

// damage returns what is missing, nil if nothing is: given the last number that was acknowledged, 0
// if that is not known, and whether reading failed after the rows so far.
func (c *chain) damage(acknowledged int, failed bool) *Damage {
	last := acknowledged
	switch {
	case acknowledged == 0 && c.beyond > 0:
		last = c.length + c.beyond
	case c.beyond > 0 || failed && acknowledged == 0:
		last = max(last, c.length+1)
	}
	if last <= c.length {
		return nil
	}
	return &Damage{Task: c.task, Kept: c.length, Lost: last - c.length}
}

// scanEntry reads the columns seq, time, kind, data, sum after the given ones.
func scanEntry(rows *sql.Rows, before ...any) (e Entry, sum []byte, err error) {
	var nanos int64
	var data []byte
	err = scan(rows, append(before, &e.Seq, &nanos, &e.Kind, &data, &sum)...)
	e.Time, e.Data = time.Unix(0, nanos).UTC(), data
	return e, sum, err
}

// readLog calls keep with each entry of the intact beginning of a log.
func readLog(ctx context.Context, db *sql.DB, task string, keep func(e Entry, sum []byte) error) (c chain, err error) {
	c = chain{task: task}
	err = query(ctx, db, func(rows *sql.Rows) error {
		e, sum, err := scanEntry(rows)
		if err == nil && c.next(e, sum) {
			err = keep(e, sum)
		}
		return err
	}, "SELECT seq, time, kind, data, sum FROM entries WHERE task = ? ORDER BY seq", task)
	return c, err
}

// Entries returns the log of a task up to the first entry that is missing or damaged. Then the error
// is a *Damage. An unknown task has no entries. A loss is reported until an entry is appended.
func (j *Journal) Entries(ctx context.Context, task string) ([]Entry, error) {
	if err := checkTask(task); err != nil {
		return nil, err
	}
	acknowledged := readHead(j.path, task) // before the rows: it must not be newer
	var entries []Entry
	c, err := readLog(ctx, j.db, task, func(e Entry, _ []byte) error {
		entries = append(entries, e)
		return nil
	})
	if err != nil && !broken(err) {
		return nil, failure(j.path, err)
	}
	if damage := c.damage(acknowledged, err != nil); damage != nil {
		return entries, damage
	}
	if loss := earlierLoss(ctx, j.db, task, c.length); loss != nil {
		return entries, loss
	}
	return entries, nil
}

// Tasks returns the last entry of every task, the newest first. Entries checks a task's log; Tasks
// does not.
func (j *Journal) Tasks(ctx context.Context) ([]Head, error) {
	var heads []Head
	err := query(ctx, j.db, func(rows *sql.Rows) (err error) {
		var head Head
		head.Last, _, err = scanEntry(rows, &head.Task)
		heads = append(heads, head)
		return err
	}, `WITH RECURSIVE tasks(task) AS (SELECT min(task) FROM entries
			UNION ALL SELECT (SELECT min(task) FROM entries e WHERE e.task > tasks.task) FROM tasks WHERE task IS NOT NULL)
		SELECT e.task, e.seq, e.time, e.kind, e.data, e.sum FROM tasks
		JOIN entries e ON e.task = tasks.task AND e.seq = (SELECT max(seq) FROM entries l WHERE l.task = tasks.task)
		ORDER BY e.time DESC, e.task`) // skips the entries in between
	return heads, failure(j.path, err)
}

// LostTasks returns the tasks that a damaged journal had and of which no entry is left, by name. They
// are known until Remove.
func (j *Journal) LostTasks(ctx context.Context) (lost []*Damage, err error) {
	err = query(ctx, j.db, func(rows *sql.Rows) error {
		d := &Damage{}
		lost = append(lost, d)
		return scan(rows, &d.Task, &d.Lost, &d.File)
	}, "SELECT task, lost, file FROM losses WHERE kept = 0 AND task NOT IN (SELECT task FROM entries) ORDER BY task")
	return lost, failure(j.path, err)
}

// maxTaskLen limits the id of a task, which is also the name of its lock.
const maxTaskLen = 64

// checkTask returns an error if the id is not usable as a file name on every system.
func checkTask(task string) error {
	valid := task != "" && len(task) <= maxTaskLen
	for i, r := range task {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		valid = valid && (letter || i > 0 && (r == '-' || r == '_' || r == '.'))
	}
	if !valid {
		return fmt.Errorf("invalid task id %q: must be 1 to %d letters, digits, '-', '_' and '.', "+
			"and begin with a letter or digit", task, maxTaskLen)
	}
	return nil
}
