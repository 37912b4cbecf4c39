package main

import (
	"context"
	"os"

	"github.com/gauze-mcp/gauze/internal/built"
	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

// buildPrograms builds once what the tests start thousands of times: gauze as users have it, and the
// faulty server alone, which takes ten times as long to start as a part of a test binary with the
// race detector. The package realtest builds gauze with the race detector itself. If one cannot be
// built, the tests build it, and the step that compiles it reports the error.
func buildPrograms(ctx context.Context) (remove func()) {
	dir, err := os.MkdirTemp("", "gauze-check-")
	if err != nil {
		return func() {}
	}
	if path, err := built.Program(ctx, dir, "faultyserver", "./internal/faultyserver/standalone"); err == nil {
		os.Setenv(faultyserver.EnvAlone, path)
	}
	if os.Getenv(built.Env) == "" {
		if path, err := built.Program(ctx, dir, "gauze", "./cmd/gauze"); err == nil {
			os.Setenv(built.Env, path)
		}
	}
	return func() { os.RemoveAll(dir) }
}
