package realparts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// home gives the test a cache of its own.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // Linux, macOS, Windows
		t.Setenv(name, dir)
	}
}

func TestManyAtOnceInstallOnce(t *testing.T) {
	home(t)
	var installs atomic.Int32
	u := unit{name: "sample", pins: "1", install: func(_ context.Context, dir string, _ io.Writer) (place, error) {
		installs.Add(1)
		node := filepath.Join(dir, "node")
		return place{Node: node}, os.WriteFile(node, nil, 0o755)
	}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := installed(t.Context(), u, io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := installs.Load(); n != 1 {
		t.Errorf("installed %d times, want once", n)
	}
}

func TestFailedInstallationIsDoneAgainFromScratch(t *testing.T) {
	home(t)
	attempt := 0
	u := unit{name: "sample", pins: "1", install: func(_ context.Context, dir string, _ io.Writer) (place, error) {
		attempt++
		leftover := filepath.Join(dir, "half")
		if _, err := os.Stat(leftover); err == nil {
			t.Error("the remains of the failed installation are still there")
		}
		if err := os.WriteFile(leftover, nil, 0o644); err != nil {
			return place{}, err
		}
		if attempt == 1 {
			return place{}, errors.New("the network went away")
		}
		return place{}, nil
	}}
	if _, err := installed(t.Context(), u, io.Discard); err == nil || !strings.Contains(err.Error(), "the network went away") {
		t.Fatalf("first attempt: %v", err)
	}
	if _, err := installed(t.Context(), u, io.Discard); err != nil {
		t.Fatalf("second attempt: %v", err)
	}
}

func TestAnotherPinIsAnotherInstallation(t *testing.T) {
	home(t)
	installs := 0
	install := func(context.Context, string, io.Writer) (place, error) { installs++; return place{}, nil }
	for _, pins := range []string{"1", "2", "1"} {
		if _, err := installed(t.Context(), unit{name: "sample", pins: pins, install: install}, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if installs != 2 {
		t.Errorf("%d installations for two sets of pins", installs)
	}
}

func TestVanishedPartIsInstalledAgain(t *testing.T) {
	home(t)
	installs := 0
	u := unit{name: "sample", pins: "1", install: func(_ context.Context, dir string, _ io.Writer) (place, error) {
		installs++
		uvx := filepath.Join(dir, "uvx")
		return place{Uvx: uvx}, os.WriteFile(uvx, nil, 0o755)
	}}
	p, err := installed(t.Context(), u, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.Uvx); err != nil {
		t.Fatal(err)
	}
	if _, err := installed(t.Context(), u, io.Discard); err != nil {
		t.Fatal(err)
	}
	if installs != 2 {
		t.Errorf("installed %d times, want again after the executable vanished", installs)
	}
}

// Where CI=true, what is not there must not look like a pass.
func TestAMissingTracerFailsWhereNothingMayBeLeftOut(t *testing.T) {
	for ci, want := range map[string]string{"true": "failed", "": "skipped"} {
		t.Setenv("CI", ci)
		t.Setenv("PATH", t.TempDir()) // neither strace nor apt-get
		end := &recordedEnd{TB: t}
		func() {
			defer func() { _ = recover() }() // as a test's own goroutine ends
			NeedTracer(end)
		}()
		if end.how != want || want == "failed" && !strings.Contains(end.why, "apt-get install strace") {
			t.Errorf("CI=%q: %s: %s", ci, end.how, end.why)
		}
	}
}

// recordedEnd is a test that only notes how it would have ended.
type recordedEnd struct {
	testing.TB
	how, why string
}

func (e *recordedEnd) Fatal(args ...any) { e.end("failed", args) }
func (e *recordedEnd) Skip(args ...any)  { e.end("skipped", args) }

func (e *recordedEnd) end(how string, args []any) {
	e.how, e.why = how, fmt.Sprint(args...)
	panic(how)
}

func TestLockFileNamesNoAddress(t *testing.T) {
	for _, name := range []string{pinsLock, pinsSuiteLock, pinsClientsLock, pinsGeminiLock, pinsMoreLock, pinsServersLock, pinsMoreServersLock, pinsWindowsLock, pinsGatewaysLock} {
		if strings.Contains(pinned(name), `"resolved"`) {
			t.Errorf("%s names a registry: write it with npm install --package-lock-only --omit-lockfile-registry-resolved", name)
		}
	}
}

func TestNodeMajor(t *testing.T) {
	for version, want := range map[string]int{"v20.1.2\n": 20, "v8.0.0": 8, "": 0, "node": 0} {
		if got := nodeMajor(version); got != want {
			t.Errorf("nodeMajor(%q) = %d, want %d", version, got, want)
		}
	}
}
