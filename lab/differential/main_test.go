//go:build !race

package differential

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// gauzeBinary is one for all tests.
var gauzeBinary string

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
	if gauzeBinary, err = programs.Gauze.LinkInto(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
