package journal

import (
	"context"
	"database/sql"
	"os"
)

// maxCheckedBytes is the size of a journal that every Open checks row by row, which takes about 10 ms
// for each MB.
const maxCheckedBytes = 4 << 20

// check returns an error that is broken if the database lost or changed something: if a log is shorter
// than its head, an event is missing, or, if every row is read, a row or an index is damaged. The
// version is always checked.
func check(path string, db *sql.DB, depth depth) error {
	ctx := context.Background()
	if err := checkVersion(ctx, path, db); err != nil || depth == unchecked {
		return err
	}
	heads := readHeads(path) // before the rows: they must not be newer
	if _, err := db.Exec(index); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if depth == byRows || info.Size() <= maxCheckedBytes {
		if err := checkRows(ctx, db); err != nil {
			return err
		}
	}
	if err := query(ctx, db, func(rows *sql.Rows) error {
		return scan(rows, new(string), new(int), new(int), new(string))
	}, "SELECT task, kept, lost, file FROM losses"); err != nil {
		return err
	}
	return checkEnds(ctx, db, path, heads)
}

// checkEnds checks how far each log goes. A database with rows and no heads has lost its witness.
func checkEnds(ctx context.Context, db *sql.DB, path string, heads map[string]int) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	first, _, last, err := eventBounds(tx)
	if err != nil {
		return err
	}
	var events, entries int
	err = tx.QueryRow("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM (SELECT 1 FROM entries LIMIT 1))").Scan(&events, &entries)
	if err != nil {
		return err
	}
	if first-1+events != last || last < heads[timeline] || events+entries > 0 && !exists(path+headsSuffix) {
		return ErrDamaged
	}
	find, err := tx.Prepare("SELECT coalesce(max(seq), 0) FROM entries WHERE task = ?")
	if err != nil {
		return err
	}
	defer find.Close()
	for task, head := range heads {
		if task == timeline {
			continue
		}
		if err := find.QueryRow(task).Scan(&last); err != nil {
			return err
		}
		if last < head && last < readHead(path, task) { // it was not removed meanwhile
			return ErrDamaged
		}
	}
	return nil
}

// checkRows checks every row and every page.
func checkRows(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return ErrDamaged
	}
	c := chain{}
	err := query(ctx, db, func(rows *sql.Rows) error {
		var task string
		e, sum, err := scanEntry(rows, &task)
		if task != c.task {
			c = chain{task: task}
		}
		if err == nil && !c.next(e, sum) {
			err = ErrDamaged
		}
		return err
	}, "SELECT task, seq, time, kind, data, sum FROM entries ORDER BY task, seq")
	if err != nil {
		return err
	}
	return query(ctx, db, func(rows *sql.Rows) error {
		r, err := scanEvent(rows)
		if err == nil && !r.intact() {
			err = ErrDamaged
		}
		return err
	}, selectEvents)
}
