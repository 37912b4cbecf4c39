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
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/realparts"
)

// step is one thing that must hold.
type step struct {
	name  string
	about string
	slow  bool // left out by -quick
	asked bool // left out unless it is asked for by its name
	run   func(ctx context.Context, out io.Writer) (tally, error)
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
	suite := []string{"-race", "-timeout", "9m", "./internal/realtest", "./..."} // the longest first, or it is waited for alone
	if quick {
		suite = append([]string{"-short"}, suite...)
	}
	return []step{
		{name: "gofmt", about: "every file is formatted", run: formatted},
		{name: "vet-linux", about: "go vet, as built for Linux", run: vetFor("linux")},
		{name: "vet-windows", about: "go vet, as built for Windows", run: vetFor("windows")},
		{name: "vet-darwin", about: "go vet, as built for macOS", run: vetFor("darwin")},
		{name: "staticcheck", about: "go tool staticcheck", run: command(nil, "go", "tool", "staticcheck", "./...")},
		{name: "compiler", about: "a C compiler, for the race detector", run: compiler},
		{name: "realparts", about: "real servers and clients, pinned", slow: true, run: install},
		{name: "test", about: "go test " + strings.Join(suite, " "), run: goTest(suite...)},
		{name: "generated", about: "a hundred thousand generated calls, without the race detector", slow: true,
			run: command(nil, "go", "test", "-count=1", "-run", "^TestGeneratedCalls$", "./internal/repair")},
		{name: "clients", about: "thirty servers of ten clients wrapped and given back, secrets shown by no command, memory under attack", slow: true,
			run: command([]string{"CI=true"}, "go", "test", "-count=1", "-run", "^TestThirtyServers|^TestNoSecretIsShown|^TestNoCanary|^TestUnfinishedBodies|Hostile", "./cmd/gauze", "./internal/agenttools")},
		{name: "hostile", about: "gauze in five hundred repositories written by an attacker", slow: true,
			run: command([]string{"CI=true"}, "go", "test", "-count=1", "./internal/hostile")},
		{name: "broken", about: "setups broken in named ways, with real servers, diagnosed and healed", slow: true,
			run: command([]string{"CI=true"}, "go", "test", "-count=1", "-timeout", "9m", "-run", "^TestBroken", "./internal/realtest")},
		{name: "judges", about: "what is written into the files of Claude Code and Codex, in their own words", slow: true,
			run: command([]string{"CI=true", "GAUZE_JUDGES=claude-code,codex"}, "go", "test", "-count=1", "-timeout", "8m", "-run", "^TestJudge|^TestEverythingWrapped", "./internal/realtest")},
		{name: "judges-all", about: "the same with five clients", slow: true, asked: true,
			run: command([]string{"CI=true"}, "go", "test", "-count=1", "-timeout", "8m", "-run", "^TestJudge|^TestEverythingWrapped", "./internal/realtest")},
		{name: "differential", about: "thirty real servers and a thousand generated ones, directly and behind gauze", slow: true, asked: true,
			run: command([]string{"CI=true", "GAUZE_DIFFERENTIAL_ALL=1", "GAUZE_DIFFERENTIAL_SEEDS=1000"}, "go", "test", "-count=1", "-timeout", "30m", "./internal/differential")},
		{name: "slow", about: "servers that take longer than a minute, directly and behind gauze", slow: true, asked: true,
			run: command([]string{"GAUZE_SLOW=1"}, "go", "test", "-count=1", "-parallel", "16", "-run", "^TestSlowServers|^TestColdStart", "./internal/differential")},
		{name: "windows-test", about: "every package as built for Windows, under wine", slow: true, asked: true, run: windowsTest},
		{name: "windows-real", about: "gauze.exe under wine: the demo, npx.cmd, taskkill, eight clients, a thousand calls", slow: true, asked: true, run: windowsReal},
		{name: "fuzz", about: fmt.Sprintf("each fuzz target, %d inputs", fuzzRuns), run: fuzzAll},
		{name: "repeat", about: fmt.Sprintf("the named faults, %d times over", repeats), slow: true, run: repeatFaults},
		{name: "conformance", about: "the official suite, direct and behind gauze, check by check", slow: true, run: command(nil, "go", "run", "./internal/conformance")},
		{name: "demo", about: "gauze demo", run: demo},
	}
}

// choose keeps the steps asked for.
func choose(steps []step, quick bool, only string) ([]step, error) {
	var chosen []step
	for _, s := range steps {
		if only != "" && s.name != only && !strings.HasPrefix(s.name, only+"-") {
			continue
		}
		if (quick && s.slow || s.asked) && only == "" {
			continue
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no step called %q here; there are %s", only, names(steps))
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

// command is a step that is one quiet command: nothing printed unless it fails, then everything.
func command(env []string, argv ...string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, _ io.Writer) (tally, error) {
		_, err := quietly(ctx, env, argv...)
		return tally{}, err
	}
}

// quietly runs a command and returns what it printed; the error holds that too.
func quietly(ctx context.Context, env []string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	if err != nil {
		return said, fmt.Errorf("%s\n%s: %w", bytes.TrimSpace(said), strings.Join(argv, " "), err)
	}
	return said, nil
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

// vetFor vets the tree as another system would compile it, so that Linux-only calls are noticed before a user does.
func vetFor(goos string) func(context.Context, io.Writer) (tally, error) {
	return command([]string{"GOOS=" + goos, "CGO_ENABLED=0"}, "go", "vet", "./...")
}

func compiler(ctx context.Context, out io.Writer) (tally, error) {
	if runtime.GOOS != "linux" || os.Getenv("CC") != "" {
		return tally{}, nil
	}
	return tally{}, realparts.CCompiler(ctx, out)
}

func install(ctx context.Context, out io.Writer) (tally, error) {
	if err := realparts.Install(ctx, out); err != nil {
		return tally{}, fmt.Errorf("%w\nwithout network: go run ./internal/check -quick leaves the real servers out", err)
	}
	return tally{}, nil
}

func demo(ctx context.Context, _ io.Writer) (tally, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_, err := quietly(ctx, nil, "go", "run", "./cmd/gauze", "demo")
	return tally{}, err
}
