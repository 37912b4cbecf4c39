package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// steps are all checks in their order. The default level has one small real instance of each kind; a
// run of everything has the larger ones, and GAUZE_TEST_ALL makes the tests of both use their whole
// samples.
var steps = []step{
	{name: "gofmt", about: "every file is formatted", run: formatted},
	{name: "compiler", about: "a C compiler, for the race detector", run: compiler}, // first: with cgo, packages are compiled again
	// Everything waits for the programs, because two go commands at a time would compile the same packages twice.
	{name: "programs", lane: prepared, about: "gauze and the laboratory's programs, named by their bytes", run: buildPrograms},
	{name: "realparts", lane: prepared, about: "real servers and clients, pinned", run: install},
	// The longest begin first.
	{name: "test-lab", lane: tested, after: everything, about: "gauze as users run it: real servers and clients, a browser, hostile repositories, storms, the official suite",
		run: goTest{dir: "lab", flags: []string{"-p", strconv.Itoa(runtime.NumCPU())},
			pkgs: []string{"./realtest", "./conformance", "./bench", "./browsertest", "./..."}}.run}, // as in longest
	{name: "test-race", lane: tested, after: built, about: "packages whose goroutines share memory, with the race detector", run: testRaced},
	{name: "test-release", lane: tested, after: everything, about: "what a release consists of: made, installed with each channel's own tools, and run", run: goTest{dir: "lab/release"}.run},
	{name: "test-plain", lane: tested, after: built, about: "all other packages of the product", run: testPlain},
	{name: "test-logins", lane: tested, after: everything, about: "a real authorization server: calls over many expiries, eight processes with one login, outages and kills; attacks on logins",
		run: goTest{dir: "lab/authserver"}.run},
	{name: "test-temporal", lane: tested, after: built, about: "the module temporal, without a server", run: goTest{dir: "temporal"}.run},
	{name: "types-windows", lane: looked, about: "the types of the product, its tests and the laboratory's tests for Windows, and analyzers of go vet", run: checkFor("windows")},
	{name: "types-darwin", lane: looked, about: "the types of the product and its tests for macOS, and analyzers of go vet", run: checkFor("darwin")},
	{name: "staticcheck", lane: looked, after: built, about: "staticcheck of the product and the laboratory", run: staticcheck},
	{name: "vet", lane: looked, after: built, about: "go vet of every module that the default level tests", run: vet},

	// They wait more than they compute, so they run beside each other.
	{name: "windows-test", lane: tested, after: everything, about: "every package as built for Windows, under wine", level: withAll, run: windowsTest},
	{name: "model", lane: tested, after: everything, about: "a real language model corrects calls and judges servers, end to end", level: withAll, run: realModel},
	{name: "temporal-server", lane: tested, after: built, about: "tasks on a real Temporal server: workers and servers killed, a hundred tasks on two workers", level: withAll,
		run: goTest{dir: "temporal/servertest", flags: outside}.run},
	{name: "repeat", lane: tested, after: built, about: "the named faults, five times each", level: withAll,
		run: goTest{env: raceOptions, flags: append([]string{"-count=5", "-run", "^TestFault"}, programs.RaceFlags...), pkgs: []string{"./internal/wrap/kernel", "./internal/wrap/gateway"}}.run},
	{name: "build", lane: tested, after: built, about: "gauze and gauze-temporal for Windows and macOS", level: withAll, run: buildForeign},
	{name: "fuzz", lane: tested, after: built, about: fmt.Sprintf("each fuzz target, %d inputs", fuzzRuns), level: withAll, run: fuzzAll},
	{name: "deploy", lane: tested, after: built, about: "alert rules and the Grafana dashboard: Prometheus' libraries and Grafana's types accept them", level: withAll,
		run: goTest{dir: "lab/deploytest", flags: outside}.run},
	{name: "windows-real", lane: tested, after: []string{"programs", "realparts", "windows-test"}, about: "gauze.exe under wine: the demo, npx.cmd, taskkill, eight clients, a thousand calls", level: withAll, run: windowsReal},
	// These measure, so they are alone.
	{name: "storm", about: "bench storm: a hundred thousand calls in each era, a thousand kills", level: withAll, run: bench("storm")},
	{name: "storm-http", about: "bench storm --http", level: withAll, run: bench("storm", "--http")},
	{name: "soak", about: "bench soak: a million calls and ten thousand restarts", level: withAll, run: bench("soak")},
}

// What tests need of the steps before them.
var (
	built      = []string{"programs"}
	everything = []string{"programs", "realparts"}
)

// outside is for modules that the default level does not compile. Go's test cache does not watch what
// they read of the product's module, and the step vet leaves them out.
var outside = []string{"-count=1", "-vet=all"}

func compiler(ctx context.Context, out io.Writer) (tally, error) {
	if runtime.GOOS != "linux" || os.Getenv("CC") != "" {
		return tally{}, nil
	}
	return tally{}, realparts.CCompiler(ctx, out)
}
