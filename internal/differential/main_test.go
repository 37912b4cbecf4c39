//go:build !race

package differential

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// gauzeBinary is built once for all tests. GAUZE_BINARY names a different one, such as a release.
var gauzeBinary = os.Getenv("GAUZE_BINARY")

// exeSuffix ends the name of a program, which Windows does not start without it.
var exeSuffix = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

func TestMain(m *testing.M) {
	serveIfAsked()
	journalIfAsked()
	slowIfAsked()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", "6") // servers spend their time waiting
	}
	dir, err := os.MkdirTemp("", "gauze-differential-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("GAUZE_STATE_DIR", filepath.Join(dir, "state")) // not the user's journal
	if gauzeBinary == "" {
		gauzeBinary = filepath.Join(dir, "gauze"+exeSuffix)
		build := exec.Command("go", "build", "-o", gauzeBinary, "github.com/gauze-mcp/gauze/cmd/gauze")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building gauze: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}
