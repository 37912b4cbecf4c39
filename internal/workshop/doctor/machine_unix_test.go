//go:build unix

package doctor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A program that has not ended in time can clean up; one that does not want to end is killed. Both are
// seen to have ended when the pipe has no writer.
func TestAProgramMayCleanUp(t *testing.T) {
	for name, script := range map[string]string{
		"it cleans up":                    `trap 'rm lock; exit' TERM; echo > lock; echo >&3; while :; do sleep 1; done`,
		"it leaves one that does not end": `(trap '' TERM; echo >&3; while :; do sleep 1; done) & while :; do sleep 1; done`,
		"it does not end":                 `trap '' TERM; echo >&3; while :; do sleep 1; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			said := make(chan error, 1)
			go func() {
				_, err := run(ctx, os.Environ(), "/bin/sh", "-c", `cd "$0" && exec 3> pipe && `+script, dir)
				said <- err
			}()
			ready, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer ready.Close()
			if _, err := ready.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			cancel()
			if err := <-said; !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that it was not waited for", err)
			}
			if _, err := io.Copy(io.Discard, ready); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "lock")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the lock stays: %v", err)
			}
		})
	}
}
