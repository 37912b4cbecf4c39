package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// step is one check.
type step struct {
	name      string
	about     string
	slow      bool // skipped by -quick
	onRequest bool // skipped unless selected by name
	beside    bool // may run beside its neighbours
	run       func(ctx context.Context, out io.Writer) (tally, error)
}

// tally counts outcomes.
type tally struct{ passed, failed, skipped int }

func (t tally) plus(u tally) tally {
	return tally{t.passed + u.passed, t.failed + u.failed, t.skipped + u.skipped}
}

func (t tally) String() string {
	s := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return s
}

func allSteps(quick bool) []step {
	// The longest packages mostly wait for processes: they are first, so that none runs alone at the
	// end, and one package more runs at the same time than there are CPUs.
	suite := []string{"-race", "-p", strconv.Itoa(runtime.NumCPU() + 1), "-timeout", "14m", "./internal/realtest", "./cmd/gauze", "./..."}
	compared := []string{"-count=1", "./internal/differential"}
	if quick {
		suite, compared = append([]string{"-short"}, suite...), append([]string{"-short"}, compared...)
	}
	return []step{
		{name: "gofmt", about: "every file is formatted", run: formatted},
		{name: "compiler", about: "a C compiler, for the race detector", run: compiler}, // first: with cgo, packages are compiled again
		{name: "realparts", about: "real servers and clients, pinned", slow: true, beside: true, run: install},
		{name: "vet-linux", about: "go vet, as built for Linux", beside: true, run: vetFor("linux")},
		{name: "vet-windows", about: "go vet, as built for Windows", beside: true, run: vetFor("windows")},
		{name: "vet-darwin", about: "go vet, as built for macOS", beside: true, run: vetFor("darwin")},
		{name: "staticcheck", about: "go tool staticcheck", beside: true, run: command(nil, "go", "tool", "staticcheck", "./...")},
		{name: "test", about: "go test " + strings.Join(suite, " "), run: goTest(suite...)},
		{name: "wordings", about: "the phrases of our texts, and two thousand error messages, without the race detector", beside: true,
			run: goTest("-count=1", "-run", "^TestVoice|^TestWordings$", ".", "./internal/doctor")},
		{name: "compared", about: "ten real servers and two hundred generated ones, directly and through gauze", beside: true, run: goTest(compared...)},
		{name: "broken", about: "setups broken in named ways, with real servers, diagnosed and healed", slow: true, beside: true,
			run: testOnce([]string{"CI=true"}, "-timeout", "14m", "-run", "^TestBroken", "./internal/realtest")},
		{name: "generated", about: "a hundred thousand generated calls, without the race detector", slow: true, beside: true,
			run: testOnce(nil, "-run", "^TestGeneratedCalls$", "./internal/repair")},
		{name: "journals", about: "ten thousand damaged journals", slow: true, onRequest: true,
			run: testOnce(nil, "-timeout", "20m", "-run", "^TestDamageIsNoticed$", "./internal/journal", "-injuries", "10000")},
		{name: "clients", about: "thirty servers of ten clients wrapped and unwrapped; no secrets in any output; memory use under attack", slow: true, beside: true,
			run: testOnce([]string{"CI=true"}, "-run", "^TestThirtyServers|^TestNoSecretIsShown|^TestNoCanary|^TestUnfinishedBodies|Hostile", "./cmd/gauze", "./internal/agenttools")},
		{name: "hostile", about: "gauze in five hundred repositories written by an attacker", slow: true, beside: true,
			run: testOnce([]string{"CI=true"}, "./internal/hostile")},
		{name: "logins", about: "a real authorization server: two hundred calls over twenty expiries, eight processes with one login, outages and kills", slow: true, beside: true,
			run: goTestIn("internal/authserver", "-count=1", "-timeout", "5m", "./...")},
		{name: "browser", about: "the dashboard of a real run in Chromium: pages, flows, keyboard, axe-core, hostile texts", slow: true, beside: true,
			run: testOnce([]string{"CI=true"}, "-timeout", "5m", "./internal/browsertest")},
		{name: "judges", about: "Claude Code and Codex read what gauze writes into their files", slow: true, beside: true,
			run: testOnce([]string{"CI=true", "GAUZE_JUDGES=claude-code,codex"}, "-timeout", "8m", "-run", "^TestJudge|^TestEverythingWrapped", "./internal/realtest")},
		{name: "judges-all", about: "five clients read what gauze writes into their files", slow: true, onRequest: true,
			run: testOnce([]string{"CI=true"}, "-timeout", "8m", "-run", "^TestJudge|^TestEverythingWrapped", "./internal/realtest")},
		{name: "differential", about: "thirty real servers and a thousand generated ones, directly and through gauze", slow: true, onRequest: true,
			run: testOnce([]string{"CI=true", "GAUZE_DIFFERENTIAL_ALL=1", "GAUZE_DIFFERENTIAL_SEEDS=1000"}, "-timeout", "30m", "./internal/differential")},
		{name: "slow", about: "servers that take longer than a minute, directly and through gauze", slow: true, onRequest: true,
			run: testOnce([]string{"GAUZE_SLOW=1"}, "-parallel", "16", "-run", "^TestSlowServers|^TestColdStart", "./internal/differential")},
		{name: "model", about: "a real language model corrects calls and judges servers, end to end", slow: true, onRequest: true, run: realModel},
		{name: "temporal-unit", about: "the module temporal: go vet, and its tests without a server", slow: true, onRequest: true,
			run: each(goTestIn("temporal", "-race", "./..."), command(nil, "go", "-C", "temporal", "vet", "./..."))},
		{name: "temporal-server", about: "tasks on a real Temporal server: workers and servers killed, a hundred tasks on two workers", slow: true, onRequest: true,
			run: goTestIn("temporal/servertest", "-count=1", "-timeout", "15m", "./...")},
		{name: "deploy", about: "alert rules and the Grafana dashboard: Prometheus' libraries and Grafana's types accept them", slow: true, onRequest: true,
			run: goTestIn("deploy/deploytest", "-count=1", "./...")},
		{name: "windows-test", about: "every package as built for Windows, under wine", slow: true, onRequest: true, run: windowsTest},
		{name: "windows-real", about: "gauze.exe under wine: the demo, npx.cmd, taskkill, eight clients, a thousand calls", slow: true, onRequest: true, run: windowsReal},
		{name: "repeat", about: fmt.Sprintf("the named faults, %d times", repeats), slow: true, beside: true, run: repeatFaults},
		{name: "fuzz", about: fmt.Sprintf("each fuzz target, %d inputs", fuzzRuns), beside: true, run: fuzzAll},
		{name: "conformance", about: "the official suite, directly and through gauze, check by check", slow: true, beside: true, run: command(nil, "go", "run", "./internal/conformance")},
		{name: "demo", about: "gauze demo", beside: true, run: demo},
	}
}

// choose returns the selected steps.
func choose(steps []step, quick bool, only string) ([]step, error) {
	var chosen []step
	for _, s := range steps {
		if only != "" && s.name != only && !strings.HasPrefix(s.name, only+"-") {
			continue
		}
		if (quick && s.slow || s.onRequest) && only == "" {
			continue
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("unknown step %q: must be one of %s", only, names(steps))
	}
	return chosen, nil
}

func names(steps []step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

// command returns a step that runs a command. It prints the command's output only if the command
// fails.
func command(env []string, argv ...string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, _ io.Writer) (tally, error) {
		_, err := quietly(ctx, env, argv...)
		return tally{}, err
	}
}

// testOnce returns a step that runs `go test` without the race detector.
func testOnce(env []string, args ...string) func(context.Context, io.Writer) (tally, error) {
	return command(env, append([]string{"go", "test", noVet, "-count=1"}, args...)...)
}

// each runs functions of steps one after the other, up to the first error.
func each(runs ...func(context.Context, io.Writer) (tally, error)) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, out io.Writer) (sum tally, err error) {
		for _, run := range runs {
			t, err := run(ctx, out)
			if sum = sum.plus(t); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
}

// quietly runs a command and returns its output, which an error also contains.
func quietly(ctx context.Context, env []string, argv ...string) ([]byte, error) {
	return quietlyIn(ctx, "", env, argv...)
}

// quietlyIn is quietly in a different directory.
func quietlyIn(ctx context.Context, dir string, env []string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		return output, fmt.Errorf("%s\n%s: %w", bytes.TrimSpace(output), strings.Join(argv, " "), err)
	}
	return output, nil
}

func formatted(ctx context.Context, _ io.Writer) (tally, error) {
	root, err := quietly(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return tally{}, err
	}
	gofmt := filepath.Join(strings.TrimSpace(string(root)), "bin", "gofmt")
	files, err := quietly(ctx, nil, gofmt, "-l", ".")
	if err != nil {
		return tally{}, err
	}
	if len(files) > 0 {
		return tally{}, fmt.Errorf("not formatted:\n%snext: gofmt -w on these files", files)
	}
	return tally{}, nil
}

// vetFor vets the tree for a given operating system, so that code that compiles only on Linux is
// noticed early. Whether cgo is used is left to the go command, as in the steps that compile the same
// packages.
func vetFor(goos string) func(context.Context, io.Writer) (tally, error) {
	return command([]string{"GOOS=" + goos}, "go", "vet", "./...")
}

func compiler(ctx context.Context, out io.Writer) (tally, error) {
	if runtime.GOOS != "linux" || os.Getenv("CC") != "" {
		return tally{}, nil
	}
	return tally{}, realparts.CCompiler(ctx, out)
}

func install(ctx context.Context, out io.Writer) (tally, error) {
	if err := realparts.Install(ctx, out); err != nil {
		return tally{}, fmt.Errorf("%w\nnext: without a network, skip the real servers: go -C lab run ./check -quick", err)
	}
	return tally{}, nil
}

func demo(ctx context.Context, _ io.Writer) (tally, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_, err := quietly(ctx, nil, "go", "run", "./cmd/gauze", "demo")
	return tally{}, err
}
