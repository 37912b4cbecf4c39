package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// A checkpoint copies pages of the write-ahead log into the database. SQLite does it in the commit
// that makes the log long, which then takes many times as long. So gauze copies on a second
// connection while commits go on, and when few pages are left, between two commits, copies these
// and restarts the log, which would otherwise grow as long as there is always a commit.
const (
	checkpointPages = 1000     // pages that a process writes between two checkpoints
	maxRest         = 100      // pages that may be left for the restart
	maxCopies       = 3        // copies before a restart, however many pages are left
	maxWALBytes     = 16 << 20 // the file is truncated to this size when the log restarts

	// restartTimeout is how long a commit waits for a restart that the readers or writers of other
	// connections prevent.
	restartTimeout = 25 * time.Millisecond
)

// checkpointer decides when pages are copied and when the log restarts. All its methods are called
// by the committer.
type checkpointer struct {
	db      *sql.DB
	grown   int        // pages written since the log restarted, about
	due     int        // how many there are when the next copy begins
	copied  chan error // receives when a copy ends; nil if there is none in progress
	copying int        // grown when the copy began
	copies  int        // since the log restarted
}

// pagesOf estimates how many pages the entries of a group change.
func pagesOf(group []*request) (pages int) {
	for _, r := range group {
		for _, e := range r.entries {
			pages += 1 + len(e.Data)/pageSize
		}
	}
	return pages
}

// note counts the pages of a commit, and begins to copy if it is time.
func (c *checkpointer) note(pages int) {
	c.grown += pages
	if c.copied == nil && c.grown >= max(c.due, checkpointPages) {
		c.copy()
	}
}

// copy copies pages in the background. Neither readers nor writers wait for it.
func (c *checkpointer) copy() {
	copied := make(chan error, 1)
	c.copied, c.copying = copied, c.grown
	c.copies++
	db := c.db
	go func() {
		copied <- guard(func() error {
			_, err := db.Exec("PRAGMA wal_checkpoint(PASSIVE)")
			return err
		})
	}()
}

// finish ends a copy: it restarts the log, or copies again if many pages are left.
func (c *checkpointer) finish(copyErr error, conn *sql.Conn) {
	c.copied = nil
	switch {
	case copyErr == nil && c.grown-c.copying > maxRest && c.copies < maxCopies:
		c.copy()
	case copyErr == nil && conn != nil && guard(func() error { return restart(conn) }) == nil:
		c.grown, c.due, c.copies = 0, 0, 0
	default:
		c.due, c.copies = c.grown+checkpointPages/4, 0
	}
}

// wait returns when no copy is in progress.
func (c *checkpointer) wait() {
	if c.copied != nil {
		<-c.copied
	}
}

// restart copies the rest of the log and lets the next commit write at its beginning. It uses the
// connection that commits, because for every other one the database would have changed.
func restart(conn *sql.Conn) error {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", restartTimeout.Milliseconds())); err != nil {
		return err
	}
	var busy, pages, copied int
	err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(RESTART)").Scan(&busy, &pages, &copied)
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds())); err != nil {
		return err
	}
	if err == nil && busy != 0 {
		err = fmt.Errorf("%d of %d pages are copied", copied, pages)
	}
	return err
}
