package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// lockSuffix names the lock of the journal as a whole. Its users share it; who moves or repairs the
// file has it alone. The system releases every lock of a process that is killed.
const lockSuffix = ".lock"

// retry calls lock until the lock is free or the time has passed.
func retry(limit time.Duration, lock func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		if err := lock(); !errors.Is(err, files.ErrLocked) || time.Now().After(deadline) {
			return err
		}
	}
}

// acquire waits for the lock of the journal at path, alone if possible, else shared.
func acquire(path string) (f *os.File, alone bool, err error) {
	if f, err = os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, false, err
	}
	err = retry(busyTimeout, func() error {
		err := files.TryLock(f)
		if alone = err == nil; errors.Is(err, files.ErrLocked) {
			err = files.TryRLock(f)
		}
		return err
	})
	if err != nil {
		f.Close()
		if errors.Is(err, files.ErrLocked) {
			err = &Problem{Path: path, Err: err, What: "is being repaired by another gauze process",
				Next: "wait for it to finish, then try again"}
		}
		return nil, false, err
	}
	return f, alone, nil
}

// share turns a lock that is held alone into a shared one.
func share(f *os.File) error {
	files.Unlock(f)
	return retry(busyTimeout, func() error { return files.TryRLock(f) })
}

// unshare turns a shared lock into one that is held alone, unless a different process keeps it.
func unshare(f *os.File) bool {
	files.Unlock(f)
	return retry(lockTimeout, func() error { return files.TryLock(f) }) == nil
}

// lockTimeout is how long Lock waits: processes that only check whether a task runs, or record events,
// have a lock for a moment.
const lockTimeout = 500 * time.Millisecond

// Lock makes the caller the only runner of a task, across processes, until it calls unlock or its
// process ends. The error is ErrRunning if there is a runner.
func (j *Journal) Lock(task string) (unlock func(), err error) {
	f, err := j.taskLock(task)
	if err != nil {
		return nil, err
	}
	if err = retry(lockTimeout, func() error { return files.TryLock(f) }); err != nil {
		f.Close()
		if errors.Is(err, files.ErrLocked) {
			return nil, fmt.Errorf("%w: another gauze process is running task %s", ErrRunning, task)
		}
		return nil, failure(j.path, err)
	}
	return func() { f.Close() }, nil // the file stays: a different process may be about to lock it
}

// Running reports whether a task has a runner. Several processes may check at the same time.
func (j *Journal) Running(task string) bool {
	f, err := j.taskLock(task)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(files.TryRLock(f), files.ErrLocked)
}

// taskLock opens the lock of a task.
func (j *Journal) taskLock(task string) (*os.File, error) {
	if err := checkTask(task); err != nil {
		return nil, err
	}
	name := j.lockPath(task)
	if err := makeDir(filepath.Dir(name)); err != nil {
		return nil, failure(j.path, err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	return f, failure(j.path, err)
}

func (j *Journal) lockPath(task string) string {
	return filepath.Join(filepath.Dir(j.path), "tasks", task+lockSuffix)
}
