// Package journal keeps what happened on disk: the events of servers and the logs of tasks, in one
// SQLite file in the state directory that several gauze processes use at the same time.
//
//	journal.go   Journal: Open, Close
//	database.go  the file: schema, version, connections
//	log.go       the logs of tasks: Entries, Tasks; commit.go: Append, which groups commits
//	remove.go    removes the log of a task
//	lock.go      one runner for each task, across processes
//	event.go     the timeline: Events; record.go: Recorder, which writes it
//	heads.go     how far each log got, outside the database
//	check.go     what Open checks
//	salvage.go   sets a damaged file aside and keeps what is intact
//	failure.go   errors of the database and the disk, in words
//
// # Why SQLite, and how
//
// Files of our own with no database would be smaller to link, but not to write: existing journals must
// stay readable, so SQLite would stay too, and many tasks that share one sync, several processes,
// removal and queries are what a database is. A write-ahead log with synchronous=FULL, because an
// append then takes one sync: 0.4 ms (median) where a rollback journal took 3 to 14. SQLite reads the
// log, decides about checkpoints, and answers queries by index.
//
// By hand is what SQLite does not do: it notices few flipped bits, and drops the end of a damaged
// write-ahead log without an error. So every row has a checksum, which in the log of a task covers the
// previous one; the rows of a log are numbered without gaps; and a small file beside the database, the
// heads, records the last number of each log. A row that passes these checks is what was written, and
// a missing one is noticed, unless both files are damaged or are replaced by earlier ones together.
//
// # Cost
//
// gauze run records its events, and users run dozens of these processes. Linking SQLite costs a
// process 0.1 to 0.4 MB of private memory; most of its 4 MB are read-only and shared. The first batch
// that is written costs up to 0.6 MB more. A Recorder opens the database only when it has a batch to
// write and closes it afterwards, which takes a few syncs, so a wrap keeps no connection. A healthy
// call emits no event and costs nothing. The journal keeps MaxEvents events and MaxEventBytes of them,
// for maxEventAge; gauze history takes 40 ms of CPU time when it is full.
package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// FileName is the name of the journal in the state directory.
const FileName = "journal.db"

// Journal is an open journal. Its methods may be called from several goroutines.
type Journal struct {
	path     string
	db       *sql.DB
	tips     map[string]tip // the ends of the logs that this process wrote
	insert   *sql.Stmt      // insertEntry
	file     os.FileInfo    // identifies the database
	use      *os.File       // a shared lock while the journal is open: nothing moves the file aside
	heads    *os.File       // opened for appending
	salvaged *Salvage

	requests chan *request
	closing  chan struct{}
	stopped  chan struct{} // closed when the committer has returned
	close    func() error
}

// Open opens the journal at path and creates it if it does not exist. A damaged journal is moved
// aside, and what is intact is kept: see Salvaged. In a journal of more than maxCheckedBytes, Open
// checks how far each log goes and not every row: Entries and Events check those that they return, and
// OpenChecked all of them.
func Open(path string) (*Journal, error) { return open(path, byEnds) }

// OpenChecked is like Open, and checks every row.
func OpenChecked(path string) (*Journal, error) { return open(path, byRows) }

// depth is what is checked when a journal is opened.
type depth int

const (
	unchecked depth = iota
	byEnds          // how far each log goes, and every row of a small journal
	byRows
)

func open(path string, checked depth) (*Journal, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, tips: map[string]tip{}}
	j.requests, j.closing, j.stopped = make(chan *request), make(chan struct{}), make(chan struct{})
	j.close = sync.OnceValue(j.shut)
	err = guard(func() error { return j.open(checked) })
	if err == nil {
		j.insert, err = j.db.Prepare(insertEntry)
	}
	if err != nil {
		j.release()
		return nil, failure(path, err)
	}
	go j.commitAll()
	return j, nil
}

// open opens the file, which is checked and, if it is damaged, replaced.
func (j *Journal) open(checked depth) (err error) {
	if err := prepare(j.path); err != nil {
		return err
	}
	var alone bool
	if j.use, alone, err = acquire(j.path); err != nil {
		return err
	}
	lost := !exists(j.path)
	if err := create(j.path); err != nil {
		return err
	}
	// SQLite reads the write-ahead log up to its first damaged page, and removes the rest.
	evidence, err := copyLog(j.path, alone && checked != unchecked)
	if err != nil {
		return err
	}
	defer os.Remove(evidence)
	if j.db, err = connect(j.path); err != nil {
		return err
	}
	if err = check(j.path, j.db, checked); broken(err) && checked != unchecked {
		j.db.Close()
		alone = alone || unshare(j.use)
		if j.salvaged, err = salvage(j.path, evidence, alone, lost); err == nil {
			j.db, err = connect(j.path)
		}
	}
	if err != nil {
		return err
	}
	if alone {
		if err := share(j.use); err != nil {
			return err
		}
	}
	if j.heads, err = openHeads(j.path); err != nil {
		return err
	}
	j.file, err = os.Stat(j.path)
	return err
}

// missing returns an error if the file at the journal's path is not the one that is open: what is
// written to that one is lost when it is closed.
func (j *Journal) missing() error {
	info, err := os.Stat(j.path)
	same := err != nil || os.SameFile(info, j.file)
	_, walErr := os.Stat(j.path + "-wal")
	if same && !errors.Is(err, fs.ErrNotExist) && !errors.Is(walErr, fs.ErrNotExist) {
		return nil // or it is not known
	}
	return &Problem{Path: j.path, What: "was removed or replaced while gauze was using it, and the tasks in it are lost",
		Next: "check what the running tasks' last calls did, then start the tasks again", Err: ErrMissing}
}

// Salvaged returns what Open had to do because the journal was damaged, nil if it was not.
func (j *Journal) Salvaged() *Salvage { return j.salvaged }

// Close waits for the entries that are being written and closes the journal.
func (j *Journal) Close() error { return j.close() }

func (j *Journal) shut() error {
	close(j.closing)
	<-j.stopped
	return j.release()
}

// release closes what is open. The lock is last: with it the file may be moved.
func (j *Journal) release() (err error) {
	if j.db != nil {
		err = guard(j.db.Close)
	}
	if j.heads != nil {
		j.heads.Close()
		compactHeads(j.path, j.use)
	}
	if j.use != nil {
		j.use.Close()
	}
	return err
}

// prepare creates the directory of the journal at path, and returns an error if something that is not
// a file has the name of one of its files: opening a pipe would wait, and reading a device might
// never end.
func prepare(path string) error {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", headsSuffix, lockSuffix} {
		if info, err := os.Stat(path + suffix); err == nil && !info.Mode().IsRegular() {
			return &Problem{Path: path + suffix, Err: fmt.Errorf("not a regular file: %v", info.Mode()),
				What: "is not a file", Next: "move it to another directory, or set GAUZE_STATE_DIR to another directory"}
		}
	}
	return nil
}

// makeDir creates a directory for the user alone. One that exists keeps its mode, because
// GAUZE_STATE_DIR may name any; the files in it are the user's alone.
func makeDir(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var failed *fs.PathError
	if errors.As(err, &failed) {
		// Windows reports a file in place of a directory as a path that does not exist.
		if info, statErr := os.Stat(failed.Path); statErr == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a directory", failed.Path)
		}
	}
	return err
}
