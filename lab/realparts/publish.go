package realparts

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

const actionlintPin = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

var (
	mcpbUnit       = npmUnitOf("mcpb", minNode, "pins/mcpb/package.json", "pins/mcpb/package-lock.json")
	actionlintUnit = unit{name: "actionlint", pins: actionlintPin, install: installActionlint}
)

// MCPB returns the command line of mcpb, which Claude Desktop's bundles are made and checked with.
func MCPB(t testing.TB, args ...string) []string {
	t.Helper()
	place := need(t, mcpbUnit)
	return append([]string{place.Node, filepath.Join(place.Modules, "@anthropic-ai", "mcpb", "dist", "cli", "cli.js")}, args...)
}

// Actionlint returns the path of actionlint, which checks workflows for GitHub.
func Actionlint(t testing.TB) string {
	t.Helper()
	return need(t, actionlintUnit).Server
}

// installActionlint builds it apart from every module: its dependencies do not agree with ours.
func installActionlint(ctx context.Context, dir string, _ io.Writer) (place, error) {
	if err := run(ctx, dir, []string{"GOBIN=" + dir, "GOFLAGS="}, "go", "install", actionlintPin); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that go can reach its module proxy, then try again", err)
	}
	return place{Server: filepath.Join(dir, "actionlint")}, nil
}
