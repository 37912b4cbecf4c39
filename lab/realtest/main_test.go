//go:build linux

package realtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// What all tests share. A run of everything uses a gauze with the race detector.
var (
	binDir      string
	plain       = programs.Gauze.Linked(&binDir)
	raced       = programs.GauzeRace.Linked(&binDir)
	gauzeBinary = func() string {
		if programs.Everything() {
			return raced()
		}
		return plain()
	}
)

// raceReports is where a gauze built with the race detector leaves its reports.
var raceReports string

// raceOptions returns the environment variable that makes such a gauze write its reports there, and
// exit without waiting for a second.
func raceOptions() string { return "GORACE=log_path=" + raceReports + " atexit_sleep_ms=0" }

func TestMain(m *testing.M) {
	beTheSDKServer()
	beTheWitness()
	beTheRecorder()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", strconv.Itoa(runtime.NumCPU()+2)) // servers and clients spend much time waiting
	}
	var err error
	binDir, err = os.MkdirTemp("", "gauze-realtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binDir)
	os.Unsetenv("PYTHONDONTWRITEBYTECODE")                       // with it, every start of a server in Python compiles all of its modules
	os.Setenv("GAUZE_STATE_DIR", filepath.Join(binDir, "state")) // not the user's journal
	raceReports = filepath.Join(binDir, "race")
	code := m.Run()
	reports, _ := filepath.Glob(raceReports + "*")
	for _, file := range reports {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(os.Stderr, "gauze has a data race:\n%s\n", text)
		code = 1
	}
	return code
}
