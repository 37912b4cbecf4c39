//go:build linux

package realtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// gauzeBinary is built once for all tests. GAUZE_BINARY names another one to test instead, such as a release.
var gauzeBinary = os.Getenv("GAUZE_BINARY")

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
	if gauzeBinary == "" {
		gauzeBinary = filepath.Join(dir, "gauze")
		args := []string{"build", "-o", gauzeBinary}
		if underRace {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, "github.com/gauze-mcp/gauze/cmd/gauze")...)
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building gauze: %v\n%s", err, out)
			return 1
		}
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
