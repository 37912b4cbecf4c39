package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// AnyEntry stands for whatever is the last entry of a task.
const AnyEntry = -1

// Remove removes the log of a task and what is known about its damage. The error is ErrRunning if
// the task has a runner, and ErrChanged if its last entry is not number last, unless last is AnyEntry.
func (j *Journal) Remove(ctx context.Context, task string, last int) error {
	unlock, err := j.Lock(task)
	if err != nil {
		return err
	}
	err = failure(j.path, guard(func() error { return j.remove(ctx, task, last) }))
	unlock()
	if err == nil {
		os.Remove(j.lockPath(task)) // a process that has it open finds that the task is unknown
	}
	return err
}

// remove removes the rows of a task. The caller has its lock.
func (j *Journal) remove(ctx context.Context, task string, last int) error {
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var end int
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM entries WHERE task = ?", task).Scan(&end); err != nil {
		return err
	}
	if end != last && last != AnyEntry {
		return fmt.Errorf("%w: the last entry of task %s is %d, not %d", ErrChanged, task, end, last)
	}
	for _, text := range []string{"DELETE FROM entries WHERE task = ?", "DELETE FROM losses WHERE task = ?"} {
		if _, err := tx.ExecContext(ctx, text, task); err != nil {
			return err
		}
	}
	// On disk before the rows are gone: otherwise a crash now would look like a loss.
	_, err = j.heads.Write(headLine(task, removed))
	if err := errors.Join(err, j.heads.Sync()); err != nil {
		return err
	}
	return tx.Commit()
}
