package login

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

// Lock waits until no other process renews logins to a resource with an account.
func (s *Store) Lock(ctx context.Context, resource, account string) (unlock func(), err error) {
	return s.lock(ctx, fileName(resource, account)+".lock")
}

// LockFlow waits until no other process asks a person to log in to a resource with an account.
func (s *Store) LockFlow(ctx context.Context, resource, account string) (unlock func(), err error) {
	return s.lock(ctx, fileName(resource, account)+".flow.lock")
}

// Add writes a login that did not exist before, when no process is renewing the one it replaces.
func (s *Store) Add(ctx context.Context, l Login) error {
	unlock, err := s.Lock(ctx, l.Resource, l.Account)
	if err != nil {
		return err
	}
	defer unlock()
	return s.Put(l)
}

const maxLockPoll = 50 * time.Millisecond

// lock locks a file, which is never removed: a process could have it open.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		f, err = os.Open(filepath.Join(s.dir, name)) // it can be locked even if the disk is read-only
	}
	if err != nil {
		return nil, err
	}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, maxLockPoll) {
		if err = files.TryLock(f); err == nil {
			return func() { files.Unlock(f); f.Close() }, nil
		}
		if !errors.Is(err, files.ErrLocked) {
			break
		}
		if !pause.For(ctx, wait) {
			err = ctx.Err()
			break
		}
	}
	f.Close()
	return nil, err
}
