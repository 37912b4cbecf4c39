//go:build linux

package realtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// gauzeBinary is one for all tests. A run of everything uses one with the race detector.
var gauzeBinary string

// raceReports is where a gauze built with the race detector leaves its reports.
var raceReports string

// raceOptions returns the environment variable that makes such a gauze write its reports there, and
// exit without waiting for a second.
func raceOptions() string { return "GORACE=log_path=" + raceReports + " atexit_sleep_ms=0" }

func TestMain(m *testing.M) {
	beTheSDKServer()
	beTheWitness()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gauze-realtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("GAUZE_STATE_DIR", filepath.Join(dir, "state")) // not the user's journal
	raceReports = filepath.Join(dir, "race")
	wanted := programs.Gauze
	if programs.Everything() {
		wanted = programs.GauzeRace
	}
	if gauzeBinary, err = wanted.LinkInto(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	reports, _ := filepath.Glob(raceReports + "*")
	for _, file := range reports {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(os.Stderr, "gauze has a data race:\n%s\n", text)
		code = 1
	}
	return code
}
