package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

// formatVersion is the version of the file's format. Version 1 is the first. It increases only if
// an older gauze would misread the file: new members of an event do not count.
const formatVersion = 1

// schema creates the tables. Neither has a second index, see the package comment. The version is
// stored twice, because a flipped bit must not look like a newer format.
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

// busyTimeout is how long a process waits for the writes of others. Tests change it.
var busyTimeout = 10 * time.Second

// connect opens a database that exists. synchronous is FULL, so that every commit survives a power
// failure and is on disk before the next one begins, or OFF for a file that is only read. more are
// further pragmas.
func connect(path, synchronous string, more ...string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", source(path, append(more,
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"synchronous("+synchronous+")",
		"cache_size(-256)",    // kB
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
	name := url.URL{Scheme: "file", Path: file, RawQuery: url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "mode": {"rw"}}.Encode()}
	return name.String()
}

// create creates the database if it does not exist: complete under a temporary name first, so that
// no other process ever sees half of it.
func create(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A journal that was removed leaves these behind. They would be applied to the new one.
	for _, suffix := range []string{"-wal", "-shm", headsSuffix} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	fresh, err := build(path, func(*sql.Tx) error { return nil })
	if err != nil {
		return err
	}
	defer os.Remove(fresh)
	if err := os.Link(fresh, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(fresh, path) // a file system without links
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
		db, err := sql.Open("sqlite", source(name, "journal_mode(WAL)", "synchronous(FULL)"))
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for _, text := range []string{schema, fmt.Sprintf("PRAGMA user_version = %d", formatVersion)} {
			if _, err := tx.Exec(text); err != nil {
				return err
			}
		}
		if _, err := tx.Exec("INSERT INTO meta VALUES ('version', ?), ('first-event', 1), ('event-bytes', 0)", formatVersion); err != nil {
			return err
		}
		return cmp.Or(fill(tx), tx.Commit(), db.Close())
	})
}

// checkVersion returns an error if the file has a newer format. The two places where the version is
// stored must agree, else the file is damaged.
func checkVersion(ctx context.Context, path string, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) error {
	var header, stored int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&header); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'version'").Scan(&stored); err != nil {
		return err
	}
	switch {
	case header != stored || header < 1:
		return errBroken
	case header > formatVersion:
		return &Problem{Path: path, What: fmt.Sprintf("was written by a newer version of gauze (format %d; this gauze supports %d)", header, formatVersion),
			Next: "update gauze, or set GAUZE_STATE_DIR to a different directory", Err: ErrNewer}
	}
	return nil
}
