// Package realparts brings pinned, real MCP servers and clients onto the machine for tests: pin, install once, hand out.
//
// They are kept outside the tree, in the user's cache directory, in a folder named by a hash of the pins, so a
// changed pin installs afresh and an unchanged one costs one file read. npm and pip are used as the machine has them
// configured. Run it alone with
//
//	go run ./internal/check -only realparts
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

// Part names one real server.
type Part string

// The servers. The first four come from npm and speak the legacy era; Time comes from PyPI, is started by uvx, and
// speaks the modern era when asked to.
const (
	Everything         Part = "server-everything"
	Filesystem         Part = "server-filesystem"
	Memory             Part = "server-memory"
	SequentialThinking Part = "server-sequential-thinking"
	Time               Part = "mcp-server-time"
)

// installPatience bounds one unit's installation: a cold machine on a slow line needs a few minutes, a machine without
// network must not hang the tests for longer.
const installPatience = 6 * time.Minute

// Install brings everything onto the machine and reports progress to out. What is there already is left alone.
func Install(ctx context.Context, out io.Writer) error {
	units := []unit{npmUnit, pythonUnit, serversUnit, conformanceUnit}
	if runtime.GOOS == "linux" {
		units = append(units, clientsUnit)
	}
	for _, u := range units {
		if _, err := installed(ctx, u, out); err != nil {
			return err
		}
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	_, err := tracer(ctx, out)
	return err
}

// Need returns the command line that starts the server, installing it first if it is missing. If that fails the test
// is skipped with the reason; where CI=true it fails, because there a missing real part must never look like a pass.
func Need(t testing.TB, part Part, args ...string) []string {
	t.Helper()
	if part == Time {
		return append(uvxCommand(need(t, pythonUnit)), args...)
	}
	place := need(t, npmUnit)
	script := filepath.Join(place.Modules, "@modelcontextprotocol", string(part), "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("%s is not where its package promises it: %v", part, err)
	}
	return append([]string{place.Node, script}, args...)
}

// Node returns the path of a Node.js that is new enough for every part.
func Node(t testing.TB) string {
	t.Helper()
	return need(t, npmUnit).Node
}

// Modules returns the node_modules folder holding both TypeScript SDKs; scripts find them with NODE_PATH.
func Modules(t testing.TB) string {
	t.Helper()
	return need(t, npmUnit).Modules
}

// place is what an installed unit hands out; it is what the stamp file holds.
type place struct {
	Node    string `json:",omitempty"` // npm units: the node executable
	Modules string `json:",omitempty"` // npm units: their node_modules
	Uvx     string `json:",omitempty"` // Python unit: the uvx executable
	Cache   string `json:",omitempty"` // Python unit: uv's cache, warm
	Python  string `json:",omitempty"` // Python unit: the interpreter uvx is told to use
	Suite   string `json:",omitempty"` // conformance unit: the suite's script
	Server  string `json:",omitempty"` // conformance unit: everything-server
	Client  string `json:",omitempty"` // conformance unit: everything-client
}

// attempts remembers, within one test process, how each unit's installation went: a machine without network should be
// told so once, not once per test.
var attempts sync.Map // unit name -> func() (place, error)

func need(t testing.TB, u unit) place {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves the real servers out")
	}
	once, _ := attempts.LoadOrStore(u.name, sync.OnceValues(func() (place, error) {
		ctx, cancel := context.WithTimeout(context.Background(), installPatience)
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

// missing ends a test that cannot be made: skipped, or failed where nothing may be left out.
func missing(t testing.TB, name string, err error) {
	t.Helper()
	why := fmt.Sprintf("the real part %q is missing and could not be installed: %v\nnext: go run ./internal/check -only realparts", name, err)
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
