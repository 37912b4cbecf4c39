package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	ErrChanged = errors.New("another process has continued the task") // the last entry is not the expected one
	ErrRunning = errors.New("the task is already running")            // a different process has the lock
	ErrNewer   = errors.New("the journal was written by a newer version of gauze")
	ErrClosed  = errors.New("the journal is closed")
	ErrMissing = errors.New("the journal was removed while it was open")
	ErrDamaged = errors.New("the journal is damaged") // a row is missing or does not match its checksum
)

// Problem is an error of the journal as a whole: what is wrong with which file, and what to do.
type Problem struct {
	Path string
	What string
	Next string
	Err  error
}

func (p *Problem) Error() string { return fmt.Sprintf("%s %s\nnext: %s", p.Path, p.What, p.Next) }
func (p *Problem) Unwrap() error { return p.Err }

// failure puts an error of the database or the disk into words.
func failure(path string, err error) error {
	var already *Problem
	var damage *Damage
	if err == nil || errors.As(err, &already) || errors.As(err, &damage) || errors.Is(err, ErrChanged) {
		return err
	}
	if closed(err) {
		return ErrClosed
	}
	p := &Problem{Path: path, Err: err}
	code := sqliteCode(err)
	switch {
	case code == sqlite3.SQLITE_FULL, isAny(err, fullErrors):
		p.What, p.Next = "cannot be written: the disk is full", "free some space, or set GAUZE_STATE_DIR to a directory on another disk"
	case code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_PERM,
		errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		p.What = "cannot be written: the file or its directory is read-only"
		p.Next = "check the directory's owner and permissions, or set GAUZE_STATE_DIR to another directory"
	case code == sqlite3.SQLITE_IOERR:
		p.What = "cannot be read or written: the disk is full or failing (" + err.Error() + ")"
		p.Next = "free some space and check the disk, or set GAUZE_STATE_DIR to a directory on another disk"
	case code == sqlite3.SQLITE_BUSY, code == sqlite3.SQLITE_LOCKED:
		p.What = fmt.Sprintf("cannot be written: another gauze process has been writing for more than %v", busyTimeout)
		p.Next = "check whether that process is paused or waiting for a disk, then try again"
	case broken(err):
		p.What, p.Next = "is damaged", "run gauze history, which repairs the journal and keeps the intact entries"
		p.Err = fmt.Errorf("%w: %w", ErrDamaged, err)
	default:
		p.What = "cannot be used: " + err.Error()
		p.Next = "check the disk and the directory's permissions, or set GAUZE_STATE_DIR to another directory"
	}
	return p
}

// closed reports whether the journal was closed by this process. database/sql has no value for this error.
func closed(err error) bool {
	return errors.Is(err, ErrClosed) || strings.HasSuffix(err.Error(), "sql: database is closed")
}

// isAny reports whether err is one of the targets.
func isAny(err error, targets []error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// broken reports whether the error means that the file is damaged.
func broken(err error) bool {
	var panicked *panicError
	switch code := sqliteCode(err); code {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH,
		sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM:
		return true // SQLITE_ERROR: the schema does not have our tables
	case 0:
		return errors.Is(err, ErrDamaged) || errors.Is(err, sql.ErrNoRows) || errors.As(err, &panicked) || unreadable(err)
	default:
		return false
	}
}

// unreadable reports whether a value is not of the type that gauze stores. database/sql has no type for this error.
func unreadable(err error) bool {
	return err != nil && strings.Contains(err.Error(), "sql: Scan error")
}

// sqliteCode returns the primary result code of the database, 0 if the error is not its.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
