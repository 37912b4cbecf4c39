package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// buildPrograms builds once what the tests start thousands of times: gauze as users have it, the
// faulty server, and the test binary of gauze, which is gauze and several servers. As a part of a test
// binary with the race detector, a server takes ten times as long to start. If one cannot be built,
// the tests build it or use their own binary, and the step that compiles it reports the error.
func buildPrograms(ctx context.Context) (remove func()) {
	dir, err := os.MkdirTemp("", "gauze-check-")
	if err != nil {
		return func() {}
	}
	if path, err := programs.Program(ctx, dir, "faultyserver", "./internal/testonly/faultyserver/standalone"); err == nil {
		os.Setenv(faultyserver.EnvAlone, path)
	}
	if os.Getenv(programs.Env) == "" {
		if path, err := programs.Program(ctx, dir, "gauze", "./cmd/gauze"); err == nil {
			os.Setenv(programs.Env, path)
		}
	}
	tests := filepath.Join(dir, "gauze.test")
	if _, err := quietly(ctx, nil, "go", "test", noVet, "-c", "-o", tests, "./cmd/gauze"); err == nil && runtime.GOOS != "windows" {
		os.Setenv(programs.EnvTests, tests)
	}
	return func() { os.RemoveAll(dir) }
}
