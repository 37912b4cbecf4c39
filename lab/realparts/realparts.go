// Package realparts installs real MCP servers and clients with pinned versions for tests.
//
// They are in the user's cache directory, in directories named by a hash of the pins: a changed pin
// leads to a new installation, an unchanged one costs one file read. npm and pip are used with the
// configuration of the machine. To install everything, run
//
//	go -C lab run ./check -only realparts
package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Part is a real server.
type Part string

// The first four servers are from npm and use the older protocol versions. Time and Git are from PyPI
// and are started by uvx. Time also supports the newest version.
const (
	Everything         Part = "server-everything"
	Filesystem         Part = "server-filesystem"
	Memory             Part = "server-memory"
	SequentialThinking Part = "server-sequential-thinking"
	Time               Part = "mcp-server-time"
	Git                Part = "mcp-server-git"
)

// installTimeout limits the installation of a unit: a slow connection or a busy machine needs many
// minutes. npm and pip give up much sooner if nothing answers.
const installTimeout = 30 * time.Minute

// Install installs what is missing of the default level, or of everything, and reports progress to out.
func Install(ctx context.Context, out io.Writer, everything bool) error {
	units := []unit{npmUnit, pythonUnit, gitUnit, serversUnit, conformanceUnit}
	if everything {
		units = append(units, moreServersUnit)
		for _, s := range pypiServers {
			units = append(units, s.unit())
		}
	}
	if runtime.GOOS == "linux" {
		units = append(units, clientsUnit, geminiUnit, postgresUnit)
	}
	for _, u := range units {
		if _, err := installed(ctx, u, out); err != nil {
			return err
		}
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	if _, _, err := Browser(ctx, out); err != nil {
		return err
	}
	_, err := tracer(ctx, out)
	return err
}

// Need returns the command line that starts the server and installs the server first if it is
// missing. If that fails, the test is skipped with the reason; with CI=true it fails, because in CI
// a missing part must not look like a pass.
func Need(t testing.TB, part Part, args ...string) []string {
	t.Helper()
	switch part {
	case Time:
		return append(uvxCommand(need(t, pythonUnit), timePin), args...)
	case Git:
		return append(uvxCommand(need(t, gitUnit), gitPin), args...)
	}
	place := need(t, npmUnit)
	script := filepath.Join(place.Modules, "@modelcontextprotocol", string(part), "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("the script for %s is missing: %v", part, err)
	}
	return append([]string{place.Node, script}, args...)
}

// Node returns the path of a Node.js executable that is new enough for every part.
func Node(t testing.TB) string {
	t.Helper()
	return need(t, npmUnit).Node
}

// Modules returns the node_modules directory with both TypeScript SDKs, for use in NODE_PATH.
func Modules(t testing.TB) string {
	t.Helper()
	return need(t, npmUnit).Modules
}

// place has the paths of an installed unit. It is the content of the stamp file.
type place struct {
	Node    string `json:",omitempty"` // npm units: the node executable
	Modules string `json:",omitempty"` // npm units: their node_modules
	Uvx     string `json:",omitempty"` // Python unit: the uvx executable
	Cache   string `json:",omitempty"` // Python unit: the cache of uv, filled
	Python  string `json:",omitempty"` // Python unit: the interpreter for uvx; model unit: the one with the engine
	Suite   string `json:",omitempty"` // conformance unit: the suite's script
	Server  string `json:",omitempty"` // conformance unit: everything-server
	Client  string `json:",omitempty"` // conformance unit: everything-client
	Model   string `json:",omitempty"` // model unit: the model's file
}

// attempts caches the result of each installation for this process, so that a missing network costs
// one timeout and not one per test.
var attempts sync.Map // unit name -> func() (place, error)

func need(t testing.TB, u unit) place {
	t.Helper()
	once, _ := attempts.LoadOrStore(u.name, sync.OnceValues(func() (place, error) {
		ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
		defer cancel()
		return installed(ctx, u, os.Stderr)
	}))
	p, err := once.(func() (place, error))()
	if err == nil {
		return p
	}
	missing(t, u.name, err)
	panic("unreachable")
}

// Missing ends a test that lacks a part: it is skipped, or fails in CI.
func Missing(t testing.TB, name string, err error) {
	t.Helper()
	missing(t, name, err)
}

// missing ends a test that cannot run: it is skipped, or fails in CI.
func missing(t testing.TB, name string, err error) {
	t.Helper()
	why := fmt.Sprintf("the real part %q is missing and could not be installed: %v\nnext: go -C lab run ./check -only realparts", name, err)
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
