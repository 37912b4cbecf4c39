package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFollowCountsLeavesAndShowsOnlyFailures(t *testing.T) {
	events := `go: downloading something
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"output of a passing test\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"run","Package":"p","Test":"TestParent"}
{"Action":"run","Package":"p","Test":"TestParent/ok"}
{"Action":"pass","Package":"p","Test":"TestParent/ok"}
{"Action":"run","Package":"p","Test":"TestParent/bad"}
{"Action":"output","Package":"p","Test":"TestParent/bad","Output":"the reason\n"}
{"Action":"fail","Package":"p","Test":"TestParent/bad"}
{"Action":"fail","Package":"p","Test":"TestParent"}
{"Action":"run","Package":"p","Test":"TestLater"}
{"Action":"output","Package":"p","Test":"TestLater","Output":"    later_test.go:1: no network\n"}
{"Action":"skip","Package":"p","Test":"TestLater"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	f := newFollower(&out)
	if err := f.follow(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if got, want := f.total(), (tally{passed: 2, failed: 1, skipped: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	for _, want := range []string{"go: downloading something", "the reason", "no network", "FAIL\tp\t0.1s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "output of a passing test") {
		t.Errorf("a passing test was shown:\n%s", out.String())
	}
}

func TestEveryPackageHasItsCountsAndPassingTestsSpeakIfAsked(t *testing.T) {
	events := `{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"a number\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"run","Package":"q","Test":"TestBad"}
{"Action":"fail","Package":"q","Test":"TestBad"}
{"Action":"fail","Package":"q"}
`
	var out strings.Builder
	f := newFollower(&out)
	f.verbose = true
	if err := f.follow(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	f.table()
	for _, want := range []string{"a number", "p " + strings.Repeat(" ", 59) + "1 passed, 0 failed", "q " + strings.Repeat(" ", 59) + "0 passed, 1 failed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestPackageThatDoesNotBuildIsOneFailure(t *testing.T) {
	events := `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`
	var out strings.Builder
	f := newFollower(&out)
	if err := f.follow(strings.NewReader(events)); err != nil || f.total() != (tally{failed: 1}) {
		t.Errorf("got %+v, %v", f.total(), err)
	}
	if !strings.Contains(out.String(), "undefined: x") {
		t.Errorf("the compiler's output is missing:\n%s", out.String())
	}
}

func TestReportEndsWithTheSum(t *testing.T) {
	outcome := func(c tally, err error) func(context.Context, io.Writer) (tally, error) {
		return func(context.Context, io.Writer) (tally, error) { return c, err }
	}
	for _, c := range []struct {
		name  string
		steps []step
		last  string
		exit  int
	}{
		{"all well", []step{{name: "a", run: outcome(tally{}, nil)}, {name: "b", run: outcome(tally{passed: 7, skipped: 1}, nil)}}, "8 passed, 0 failed", 0},
		{"a step fails", []step{{name: "a", run: outcome(tally{}, errors.New("broken"))}, {name: "b", run: outcome(tally{}, nil)}}, "1 passed, 1 failed", 1},
		{"tests fail", []step{{name: "a", run: outcome(tally{passed: 3, failed: 2}, errors.New("exit status 1"))}}, "3 passed, 2 failed", 1},
	} {
		var out strings.Builder
		if exit := report(t.Context(), c.steps, &out, false); exit != c.exit {
			t.Errorf("%s: exit %d, want %d", c.name, exit, c.exit)
		}
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		if last := lines[len(lines)-1]; last != c.last {
			t.Errorf("%s: last line %q, want %q", c.name, last, c.last)
		}
	}
}

func TestStepsRunBesideEachOther(t *testing.T) {
	met := make(chan struct{})
	meet := func(_ context.Context, out io.Writer) (tally, error) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-t.Context().Done():
		}
		io.WriteString(out, "one\n")
		io.WriteString(out, "two\n")
		return tally{}, nil
	}
	var out strings.Builder
	if exit := report(t.Context(), []step{{name: "a", lane: tested, run: meet}, {name: "b", lane: tested, run: meet}}, &out, false); exit != 0 {
		t.Errorf("exit %d:\n%s", exit, out.String())
	}
	if n := strings.Count(out.String(), "one\ntwo\n"); n != 2 {
		t.Errorf("the output of the two steps is mixed:\n%s", out.String())
	}
}

// A step begins when those that it comes after have ended, as many of a lane as may run at a time, and what is alone alone.
func TestStepsBeginInTheirOrder(t *testing.T) {
	var mu sync.Mutex
	running, ended := map[string]lane{}, []string{}
	work := func(s step) step {
		s.run = func(context.Context, io.Writer) (tally, error) {
			mu.Lock()
			running[s.name] = s.lane
			inLane := 0
			for _, other := range running {
				if other == s.lane {
					inLane++
				}
			}
			if inLane > atOnce[s.lane] || s.lane == alone && len(running) > 1 {
				t.Errorf("%s runs beside %v", s.name, running)
			}
			for _, earlier := range s.after {
				if !slices.Contains(ended, earlier) && earlier != "not selected" {
					t.Errorf("%s began before %s had ended: %q", s.name, earlier, ended)
				}
			}
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			defer mu.Unlock()
			delete(running, s.name)
			ended = append(ended, s.name)
			return tally{}, nil
		}
		return s
	}
	var all []step
	for _, s := range []step{
		{name: "before"}, {name: "built", lane: prepared}, {name: "installed", lane: prepared}, {name: "seen", lane: looked},
		{name: "long", lane: tested, after: []string{"built", "installed"}}, {name: "short", lane: tested, after: []string{"built", "not selected"}},
		{name: "vetted", lane: looked, after: []string{"built"}}, {name: "last"},
	} {
		all = append(all, work(s))
	}
	if exit := report(t.Context(), all, io.Discard, false); exit != 0 || len(ended) != len(all) || ended[0] != "before" || ended[len(ended)-1] != "last" {
		t.Errorf("exit %d: %q", exit, ended)
	}
}

func TestInterruptedRunIsNotAPass(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if exit := report(ctx, steps, io.Discard, false); exit == 0 {
		t.Error("an interrupted run exits 0")
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		all  bool
		only string
		want string
	}{
		{false, "vet", "vet"},
		{false, "staticcheck", "staticcheck"},
		{false, "test", "compiler, programs, test-lab, test-race, test-release, test-plain, test-logins, test-temporal"},
		{false, "windows", "compiler, programs, windows-test, windows-real"},
		{true, "soak", "soak"},
		{false, "", "gofmt, compiler, programs, realparts, test-lab, test-race, test-release, test-plain, test-logins, test-temporal, types-windows, types-darwin, staticcheck, vet"},
		{true, "", names(steps)},
	} {
		chosen, err := choose(steps, c.all, c.only)
		if got := names(chosen); err != nil || got != c.want {
			t.Errorf("choose(all=%v, %q) = %q, %v; want %q", c.all, c.only, got, err, c.want)
		}
	}
	if _, err := choose(steps, false, "tset"); err == nil || !strings.Contains(err.Error(), "staticcheck") {
		t.Errorf("the error for an unknown step must list the steps: %v", err)
	}
}

func TestPaceIsAPowerOfTwo(t *testing.T) {
	for took, want := range map[time.Duration]int{50: 1, 100: 1, 150: 1, 151: 2, 300: 2, 301: 4, 1_000_000: 64} {
		if got := paceOf(took, 100); got != want {
			t.Errorf("paceOf(%d, 100) = %d, want %d", took, got, want)
		}
	}
}

// A test that runs longer than its limit is named, one that waits for its turn is not.
func TestOverdueTestsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(io.Discard)
		var named []string
		f.overdue = func(id testID) { named = append(named, id.test) }
		for _, name := range []string{"TestHangs", "TestWaits", "TestEnds"} {
			f.take(testEvent{Action: "run", Package: "p", Test: name})
		}
		f.take(testEvent{Action: "output", Package: "p", Test: "TestHangs", Output: "still here\n"})
		f.take(testEvent{Action: "pause", Package: "p", Test: "TestWaits"})
		f.take(testEvent{Action: "pass", Package: "p", Test: "TestEnds"})
		time.Sleep(f.limit + time.Second)
		synctest.Wait()
		if !slices.Equal(named, []string{"TestHangs"}) {
			t.Errorf("overdue: %q", named)
		}
	})
}

func TestFuzzTargetsAreFoundWithTheirPackage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "scan_test.go")
	source := "package wire\n\nfunc TestScan(t *testing.T) {}\nfunc FuzzScan(f *testing.F) {}\nfunc (x y) FuzzNot() {}\n"
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := fuzzTargets([]byte("\na/wire\t" + filepath.ToSlash(file) + "\n"))
	if err != nil || !slices.Equal(got, []fuzzTarget{{"a/wire", dir, "FuzzScan"}}) {
		t.Errorf("found %v, %v", got, err)
	}
}

// A test that fails once and then passes is named and does not fail the run. What fails again, what
// proves a fault and what is not one test fails it.
func TestAFailureIsRepeatedUnlessItProvesAFault(t *testing.T) {
	const once = `
	path := os.Getenv("SEEN")
	if _, err := os.Stat(path); err != nil {
		os.WriteFile(path, nil, 0o600)
		t.Error("first time")
	}`
	for name, c := range map[string]struct {
		body string
		want tally
	}{
		"once":        {once, tally{passed: 1, unsteady: 1}},
		"always":      {`t.Error("each time")`, tally{passed: 1, failed: 1}},
		"panic":       {once + `; if t.Failed() { panic("broken") }`, tally{passed: 1, failed: 1}},
		"race report": {once + `; if t.Failed() { t.Log("WARNING: DATA RACE") }`, tally{passed: 1, failed: 1}},
		"in a parent": {`t.Run("a b", func(t *testing.T) {` + once + `}); if t.Failed() { t.Log("panic: x") }`, tally{passed: 1, failed: 1}},
		"a subtest":   {`t.Run("a b", func(t *testing.T) {` + once + `})`, tally{passed: 1, unsteady: 1}},
		"leftovers":   {once + `; if t.Failed() { os.Exit(3) }`, tally{passed: 1, failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("SEEN", filepath.Join(dir, "seen"))
			for file, text := range map[string]string{
				"go.mod": "module m\n\ngo 1.26\n",
				"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\nfunc TestAGood(t *testing.T) {}\n\nfunc TestBad(t *testing.T) {\n" +
					c.body + "\n}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			got, err := goTest{dir: dir}.run(t.Context(), &out)
			if got != c.want || (err != nil) != (c.want.failed > 0) {
				t.Errorf("counted %v, expected %v; %v\n%s", got, c.want, err, out.String())
			}
			if named := strings.Contains(out.String(), "unsteady: TestBad"); named != (c.want.unsteady > 0) {
				t.Errorf("named: %v\n%s", named, out.String())
			}
		})
	}
}
