package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

// serverAlone builds the faulty server as a separate binary for the tests, which start it thousands
// of times: as a part of a test binary with the race detector it takes ten times as long to start.
// If it cannot be built, the tests use their own binary, and the step that compiles it reports the
// error.
func serverAlone(ctx context.Context) (remove func()) {
	dir, err := os.MkdirTemp("", "gauze-check-")
	if err != nil {
		return func() {}
	}
	path := filepath.Join(dir, "faultyserver")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := quietly(ctx, nil, "go", "build", "-o", path, "./internal/faultyserver/standalone"); err == nil {
		os.Setenv(faultyserver.EnvAlone, path)
	}
	return func() { os.RemoveAll(dir) }
}
