package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// formatVersion is the version of the file's format. Version 1 is the first. It increases only if
// an older gauze would misread the file: new members of an event or another index do not count.
const formatVersion = 1

// schema creates the tables. What queries choose by are columns; the rest of an event is JSON, so
// that new members need no new format. The version is stored twice, because a flipped bit must not
// look like a newer format.
const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
	task TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL, data BLOB, sum BLOB NOT NULL,
	PRIMARY KEY (task, seq)) WITHOUT ROWID;
CREATE TABLE losses (task TEXT PRIMARY KEY, kept INTEGER NOT NULL, lost INTEGER NOT NULL, file TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
	seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL,
	event BLOB NOT NULL, sum BLOB NOT NULL);
`

// index was added later: Open creates it in a file of an older gauze. Each further one would add about
// 0.1 ms to every batch of events.
const index = "CREATE INDEX IF NOT EXISTS events_by_server ON events (server)"

// busyTimeout is how long a process waits for the writes of others. Tests change it.
var busyTimeout = 10 * time.Second

// connect opens a database that exists. Every commit is on disk when it returns (synchronous), as
// SQLite does not promise by default in WAL mode. pragmas are further ones.
func connect(path string, pragmas ...string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", source(path, append(pragmas,
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"synchronous(FULL)",
		"cache_size(-4096)",   // kB: the ends of a thousand logs
		"cell_size_check(ON)", // notice more damage
		"trusted_schema(OFF)", // a damaged schema runs nothing
		"temp_store(MEMORY)",  // no files elsewhere
		"mmap_size(0)",        // a read error is an error, not a signal
	)...))
}

// source returns the name of the database for the driver.
func source(path string, pragmas ...string) string {
	file := filepath.ToSlash(path)
	if !strings.HasPrefix(file, "/") {
		file = "/" + file // C:/...
	}
	values := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "mode": {"rw"}}
	name := url.URL{Scheme: "file", Path: file, RawQuery: values.Encode()}
	return name.String()
}

// create creates the database if it does not exist: complete under a temporary name first, so that
// no other process ever sees half of it. The heads of one that was lost stay: they tell what it had.
func create(path string) error {
	if exists(path) {
		return nil
	}
	if err := moveLog(path, asideName(path)); err != nil { // it would be applied to the new one
		return err
	}
	fresh, err := build(path, func(*sql.Tx) error { return nil })
	if err != nil {
		return err
	}
	defer os.Remove(fresh)
	if err := files.MoveNew(fresh, path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// moveLog moves the write-ahead log of path to that of the name to.
func moveLog(path, to string) error {
	os.Remove(path + "-shm") // an index of the log, which SQLite makes again
	if err := os.Rename(path+"-wal", to+"-wal"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// build writes a new database next to path and returns its name.
func build(path string, fill func(*sql.Tx) error) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return "", err
	}
	name = f.Name()
	defer func() {
		if err != nil {
			os.Remove(name)
			os.Remove(name + "-wal")
			os.Remove(name + "-shm")
		}
	}()
	if err := f.Close(); err != nil {
		return name, err
	}
	return name, guard(func() error {
		db, err := connect(name, "journal_mode(WAL)")
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for _, text := range []string{schema, index,
			fmt.Sprintf("PRAGMA user_version = %d", formatVersion),
			fmt.Sprintf("INSERT INTO meta VALUES ('version', %d), ('first-event', 1), ('event-bytes', 0)", formatVersion),
		} {
			if _, err := tx.Exec(text); err != nil {
				return err
			}
		}
		return cmp.Or(fill(tx), tx.Commit(), db.Close())
	})
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// checkVersion returns an error if the file has a newer format. The two places where the version is
// stored must agree, else the file is damaged.
func checkVersion(ctx context.Context, path string, db *sql.DB) error {
	var header, stored int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&header); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'version'").Scan(&stored); err != nil {
		return err
	}
	switch {
	case header != stored || header < 1:
		return ErrDamaged
	case header > formatVersion:
		return &Problem{Path: path, Err: ErrNewer, Next: "update gauze, or set GAUZE_STATE_DIR to another directory",
			What: fmt.Sprintf("was written by a newer version of gauze (format %d; this version supports %d)", header, formatVersion)}
	}
	return nil
}

// query reads rows until scan returns an error; io.EOF is not one. A panic in the database is an error.
func query(ctx context.Context, db querier, scan func(*sql.Rows) error, text string, args ...any) error {
	return guard(func() error {
		rows, err := db.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
		}
		return cmp.Or(rows.Err(), rows.Close())
	})
}

// scan reads the columns of a row. One of a different type is damage.
func scan(rows *sql.Rows, columns ...any) error {
	if err := rows.Scan(columns...); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// panicError is a panic of the database, which a damaged file may cause.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprint("the database panicked: ", p.value) }

// guard runs f. A panic becomes an error.
func guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value}
		}
	}()
	return f()
}
