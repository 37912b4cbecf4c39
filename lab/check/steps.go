package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// steps are all checks in their order. The default level has one small real instance of each kind; a
// run of everything has the larger ones, and GAUZE_TEST_ALL makes the tests of both use their whole
// samples.
var steps = []step{
	{name: "gofmt", about: "every file is formatted", run: formatted},
	{name: "compiler", about: "a C compiler, for the race detector", run: compiler}, // first: with cgo, packages are compiled again
	{name: "programs", about: "gauze and the laboratory's programs, named by their bytes", run: buildPrograms},
	{name: "realparts", about: "real servers and clients, pinned", beside: true, run: install},
	{name: "vet", about: "go vet of every module that the default level tests", beside: true, run: vet},
	{name: "staticcheck", about: "staticcheck of the product and the laboratory", beside: true, run: staticcheck},
	{name: "types-windows", about: "the types of the product and its tests for Windows, and analyzers of go vet", beside: true, run: checkFor("windows")},
	{name: "types-darwin", about: "the types of the product and its tests for macOS, and analyzers of go vet", beside: true, run: checkFor("darwin")},
	{name: "test-lab", starts: true, about: "gauze as users run it: real servers and clients, a browser, hostile repositories, storms, the official suite", beside: true,
		run: goTest{dir: "lab", flags: []string{"-p", strconv.Itoa(runtime.NumCPU() + 2)}}.run},
	{name: "test-race", starts: true, about: "packages whose goroutines share memory, with the race detector", beside: true, run: testRaced},
	{name: "test", starts: true, about: "all other packages of the product", beside: true, run: testPlain},
	{name: "test-logins", starts: true, about: "a real authorization server: calls over many expiries, eight processes with one login, outages and kills", beside: true,
		run: goTest{dir: "lab/authserver"}.run},
	{name: "test-temporal", about: "the module temporal, without a server", beside: true, run: goTest{dir: "temporal"}.run},

	{name: "repeat", starts: true, about: "the named faults, five times each, two at a time", level: withAll,
		run: goTest{env: raceOptions, flags: append([]string{"-count=5", "-run", "^TestFault"}, programs.RaceFlags...), pkgs: []string{"./internal/proxy", "./internal/gateway"}}.run},
	{name: "fuzz", about: fmt.Sprintf("each fuzz target, %d inputs", fuzzRuns), level: withAll, run: fuzzAll},
	{name: "deploy", about: "alert rules and the Grafana dashboard: Prometheus' libraries and Grafana's types accept them", level: withAll,
		run: goTest{dir: "lab/deploytest", flags: outside}.run},
	{name: "temporal-server", about: "tasks on a real Temporal server: workers and servers killed, a hundred tasks on two workers", level: withAll,
		run: goTest{dir: "temporal/servertest", flags: outside}.run},
	{name: "windows-test", about: "every package as built for Windows, under wine", level: withAll, run: windowsTest},
	{name: "windows-real", about: "gauze.exe under wine: the demo, npx.cmd, taskkill, eight clients, a thousand calls", level: withAll, run: windowsReal},
	{name: "model", starts: true, about: "a real language model corrects calls and judges servers, end to end", level: withAll, run: realModel},
	{name: "storm", about: "bench storm: a hundred thousand calls in each era, a thousand kills", level: withAll, run: bench("storm")},
	{name: "storm-http", about: "bench storm --http", level: withAll, run: bench("storm", "--http")},
	{name: "soak", about: "bench soak: a million calls and ten thousand restarts", level: withAll, run: bench("soak")},
}

// outside is for tests that read files or start programs of a different module: Go's test cache does not
// watch those.
var outside = []string{"-count=1"}

func compiler(ctx context.Context, out io.Writer) (tally, error) {
	if runtime.GOOS != "linux" || os.Getenv("CC") != "" {
		return tally{}, nil
	}
	return tally{}, ensureCompiler(ctx, out)
}
