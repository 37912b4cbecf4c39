package differential

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// What all tests share.
var (
	binDir      string
	gauzeBinary = programs.Gauze.Linked(&binDir)
)

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
	var err error
	binDir, err = os.MkdirTemp("", "gauze-differential-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binDir)
	os.Setenv("GAUZE_STATE_DIR", filepath.Join(binDir, "state")) // not the user's journal
	return m.Run()
}
