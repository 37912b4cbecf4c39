package files

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestALockIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := OpenLocked(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancelCause(t.Context())
	gaveUp := errors.New("gave up")
	end(gaveUp)
	if _, err := OpenLocked(ended, path); !errors.Is(err, gaveUp) {
		t.Errorf("%v, want %v", err, gaveUp)
	}
	waits := make(chan error, 1)
	go func() {
		second, err := OpenLocked(t.Context(), path)
		if err == nil {
			err = second.Close()
		}
		waits <- err
	}()
	first.Close()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}
