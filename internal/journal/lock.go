package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/filelock"
)

// lockSuffix names the lock of the journal as a whole. Its users share it; who moves or repairs the
// file has it alone. The system releases every lock of a process that is killed.
const lockSuffix = ".lock"

// acquire waits for the lock of the journal at path, alone if possible, else shared.
func acquire(path string) (f *os.File, alone bool, err error) {
	if f, err = os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, false, err
	}
	for deadline := time.Now().Add(busyTimeout); ; time.Sleep(2 * time.Millisecond) {
		if err = filelock.Try(f, true); err == nil {
			return f, true, nil
		}
		if errors.Is(err, filelock.ErrLocked) {
			err = filelock.Try(f, false)
		}
		if err == nil {
			return f, false, nil
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			f.Close()
			if errors.Is(err, filelock.ErrLocked) {
				err = &Problem{Path: path, What: "is being repaired by a different gauze process", Next: "wait for it, then repeat the command", Err: err}
			}
			return nil, false, err
		}
	}
}

// share turns a lock that is held alone into a shared one.
func share(f *os.File) error {
	filelock.Unlock(f)
	for deadline := time.Now().Add(busyTimeout); ; time.Sleep(2 * time.Millisecond) {
		err := filelock.Try(f, false)
		if err == nil || !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			return err
		}
	}
}

// lockTimeout is how long Lock waits: processes that only check whether a task runs have the lock for
// a moment.
const lockTimeout = 500 * time.Millisecond

// Lock makes the caller the only runner of a task, across processes, until it calls unlock or its
// process ends. The error is ErrRunning if there is a runner.
func (j *Journal) Lock(task string) (unlock func(), err error) {
	f, err := j.taskLock(task)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(2 * time.Millisecond) {
		if err = filelock.Try(f, true); !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrLocked) {
			return nil, fmt.Errorf("%w: a different gauze process is running task %s", ErrRunning, task)
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
	return errors.Is(filelock.Try(f, false), filelock.ErrLocked)
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
	if err != nil {
		return nil, failure(j.path, err)
	}
	return f, nil
}

func (j *Journal) lockPath(task string) string {
	return filepath.Join(filepath.Dir(j.path), "tasks", task+lockSuffix)
}
