// Package census finds what tests leave behind: goroutines, processes and open files.
//
// Tests run several at a time, so what belongs to one of them carries its mark: a label, which a
// goroutine passes on to those that it starts, and a variable of the environment, which a process
// passes on to its children. Mark checks at the end of a test that nothing with its mark is left.
// What carries no mark is counted when all tests of the package have ended, by Run.
package census

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// mark is the name of the label and of the variable.
const mark = "GAUZE_TEST_OWNER"

var (
	owners sync.Map // of testing.TB: the tests under way and their names
	number atomic.Int64
)

// Mark marks the goroutine of t and everything that it starts from now on. It returns the variable
// that marks a process, as NAME=value. When t has ended, it fails if something marked is left; this
// comes after all cleanups that are registered later. A second call for t returns the same.
func Mark(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("%s %d.%d", t.Name(), os.Getpid(), number.Add(1)) // -count repeats the name of a test
	if known, marked := owners.LoadOrStore(t, name); marked {
		return mark + "=" + known.(string)
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(mark, name)))
	t.Cleanup(func() {
		pprof.SetGoroutineLabels(context.Background()) // it runs on the goroutine of t, which is not left yet
		owners.Delete(t)
		complain(t, name, patience.Limit())
	})
	return mark + "=" + name
}

// complain fails t if something of the test with a name is left after the limit.
func complain(t testing.TB, name string, limit time.Duration) {
	t.Helper()
	for _, one := range settle(limit, func() []string { return left(name) }) {
		t.Errorf("left behind: %s", one)
	}
}

// left returns what is left of the test with a name.
func left(name string) []string {
	label := strconv.Quote(mark) + ": " + strconv.Quote(name)
	return append(goroutines(func(header string) bool { return strings.Contains(header, label) }), marked(mark+"="+name)...)
}

// settle looks until nothing is left or the limit has passed, and returns what is left then.
func settle(limit time.Duration, look func() []string) []string {
	end := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		remains := look()
		if len(remains) == 0 || time.Now().After(end) {
			return remains
		}
		<-time.After(pause)
	}
}

// goroutines returns the stacks of the goroutines that run code of this project and whose first line, which has their labels,
// matches.
func goroutines(match func(header string) bool) (found []string) {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		header, frames, _ := strings.Cut(stack, "\n")
		if match(header) && runsOurs(frames) {
			found = append(found, stack)
		}
	}
	return found
}

// stacks returns those of all goroutines, as a panic prints them, with their labels. A profile has them too, and costs many times
// as much.
func stacks() string {
	withLabels()
	for text := make([]byte, 1<<18); ; text = make([]byte, 2*len(text)) {
		if n := runtime.Stack(text, true); n < len(text) {
			return string(text[:n])
		}
	}
}

// withLabels lets the runtime print labels.
var withLabels = sync.OnceFunc(func() {
	const setting = "GODEBUG"
	os.Setenv(setting, strings.TrimPrefix(os.Getenv(setting)+",tracebacklabels=1", ","))
})

const module = "github.com/gauze-mcp/gauze/"

// runsOurs reports whether a function of a stack is the project's, and neither a test nor for tests
// only. Each has two lines: the function with its arguments, then a tab and the place.
func runsOurs(frames string) bool {
	ours := false
	for line := range strings.Lines(frames) {
		place, isPlace := strings.CutPrefix(line, "\t")
		if !isPlace {
			ours = strings.HasPrefix(line, module) && !strings.HasPrefix(line, module+"internal/testonly/")
			continue
		}
		file, _, _ := strings.Cut(place, ".go:")
		if ours && !strings.HasSuffix(file, "_test") && !strings.HasSuffix(file, "/upstream/process/tied_linux") { // the thread that starts all servers never ends
			return true
		}
	}
	return false
}
