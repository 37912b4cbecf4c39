package census

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// atATime is how many tests run at the same time: they spend their time waiting for processes.
const atATime = 8

// Run runs the tests of a package, several at a time, and returns the code to exit with. It is not 0
// if the tests passed but left something behind.
func Run(m *testing.M) int {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		flag.Set("test.parallel", fmt.Sprint(max(atATime, runtime.GOMAXPROCS(0))))
	}
	usePoller()
	before := total()
	code := m.Run()
	if code != 0 {
		return code
	}
	remains := settle(patience.Limit(), func() []string {
		http.DefaultClient.CloseIdleConnections()
		return total().since(before)
	})
	for _, one := range remains {
		fmt.Fprintln(os.Stderr, "left behind by the tests of this package:", one)
	}
	return min(len(remains), 1)
}

// usePoller opens the files that the runtime polls others with, and keeps.
func usePoller() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
}

// head counts what a process has.
type head struct{ goroutines, children, files []string }

func total() head {
	return head{goroutines(func(string) bool { return true }), children(), files()}
}

// since returns what is there now, of all that there is more of than before.
func (now head) since(before head) (more []string) {
	for _, pair := range [][2][]string{{now.goroutines, before.goroutines}, {now.children, before.children}, {now.files, before.files}} {
		if len(pair[0]) > len(pair[1]) {
			more = append(more, pair[0]...)
		}
	}
	return more
}
