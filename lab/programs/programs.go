// Package programs builds what the laboratory starts: gauze as users have it, and servers and helpers
// of its own.
//
// A built program is in the user's cache directory, under a name that is a hash of its bytes. The
// check builds all programs first and passes their paths to the tests in environment variables. Go's
// test cache records the variables that a test reads, so a result is reused exactly as long as the
// programs that the test starts are the same bytes. Without the check, a test builds what it needs,
// and its result is not cached.
package programs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// Program is a command that is built from this tree.
type Program struct {
	Name  string // of the executable
	Env   string // the variable with the path of the built program
	dir   string // the module, from the root of the tree
	pkg   string // the package, from the module
	flags []string
}

// RaceFlags select the race detector. It does not watch SQLite itself, which is C translated to Go and
// keeps its memory to itself: that takes a minute to compile, and ten times as long to run. This is
// sound only for a package without copies of other packages' generic functions, which would be linked
// in place of the watched ones; a test of this package looks for them.
var RaceFlags = []string{"-race", "-gcflags=" + unwatched + "=-race=false"}

const unwatched = "modernc.org/sqlite/lib"

// BuildFlags are for go build and go test: compilers and linkers collect garbage less often, which saves 15 to 20 % of their
// CPU time. What they build, and under which key Go's cache keeps it, is the same.
var BuildFlags = sync.OnceValue(func() []string {
	env, err := exec.LookPath("env")
	if err != nil || runtime.GOOS == "windows" || strings.ContainsAny(env, " '\"") {
		return nil
	}
	return []string{"-toolexec=" + env + " GOGC=400"}
})

// The programs that tests start.
var (
	Gauze       = Program{"gauze", "GAUZE_BINARY", ".", "./cmd/gauze", nil}
	GauzeRace   = Program{"gauze", "GAUZE_BINARY_RACE", ".", "./cmd/gauze", RaceFlags}
	GauzeBugs   = Program{"gauze", "GAUZE_BINARY_BUGS", ".", "./cmd/gauze", append([]string{"-tags", "seededbugs"}, RaceFlags...)}
	GauzeHeap   = Program{"gauze", "GAUZE_BINARY_HEAP", ".", "./cmd/gauze", []string{"-tags", "heapreport"}}
	Faulty      = Program{"faultyserver", faultyserver.EnvAlone, ".", "./internal/testonly/faultyserver/standalone", nil}
	Witness     = Program{"witness", "GAUZE_LAB_WITNESS", "lab", "./hostile/witness", nil}
	SDKServer   = Program{"sdkserver", "GAUZE_LAB_SDKSERVER", "lab", "./bench/sdkserver", nil}
	Floor       = Program{"floor", "GAUZE_LAB_FLOOR", "lab", "./bench/floor", nil}
	Bench       = Program{"bench", "GAUZE_LAB_BENCH", "lab", "./bench", nil}
	Conformance = Program{"conformance", "GAUZE_LAB_CONFORMANCE", "lab", "./conformance", nil}
)

// Staticcheck is a tool of the check alone.
var Staticcheck = Program{"staticcheck", "GAUZE_LAB_STATICCHECK", "lab", "./check/static", nil}

// All are the programs that a check of everything builds.
var All = []Program{Gauze, GauzeRace, GauzeBugs, GauzeHeap, Faulty, Witness, SDKServer, Bench, Conformance}

// Needed returns those that tests start. Only a run of everything starts a gauze with the race detector
// and without seeded bugs.
func Needed() []Program {
	if Everything() {
		return All
	}
	return slices.DeleteFunc(slices.Clone(All), func(p Program) bool { return p.Env == GauzeRace.Env })
}

// WithTags returns gauze built with this tag, or with none.
func WithTags(tags string) Program {
	if tags == "" {
		return Gauze
	}
	for _, p := range All {
		if at := slices.Index(p.flags, "-tags"); at >= 0 && p.flags[at+1] == tags {
			return p
		}
	}
	panic("no gauze is built with the tag " + tags)
}

// Path returns the path of the program. It builds the program unless the check did.
func (p Program) Path(ctx context.Context) (string, error) {
	if calledByTestMain() {
		return "", errors.New("a TestMain asks for a program: Go's test cache does not see that, use Linked")
	}
	if path := os.Getenv(p.Env); path != "" {
		return path, nil
	}
	root, err := Root(ctx)
	if err == nil {
		err = uncached(root)
	}
	if err != nil {
		return "", err
	}
	return p.Build(ctx, root)
}

// Linked returns a function that gives the program a path in *dir. A test calls it, not TestMain: Go's
// test cache records what the tests of a package read, and nothing before them.
func (p Program) Linked(dir *string) func() string {
	return sync.OnceValue(func() string {
		path, err := p.LinkInto(context.Background(), *dir)
		if err != nil {
			panic(err)
		}
		return path
	})
}

// calledByTestMain reports whether a TestMain is among the callers.
func calledByTestMain() bool {
	callers := make([]uintptr, 50)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, ".TestMain") {
			return true
		}
		if !more {
			return false
		}
	}
}

// LinkInto gives the program a second path, in dir.
func (p Program) LinkInto(ctx context.Context, dir string) (string, error) {
	path, err := p.Path(ctx)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(path))
	if os.Link(path, to) == nil {
		return to, nil
	}
	return to, copyFile(path, to)
}

// Build builds the program from the tree at root and returns a path that changes with its bytes, and
// only with them: the build records neither the directory nor the commit.
func (p Program) Build(ctx context.Context, root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil { // a bare container may have neither HOME nor XDG_CACHE_HOME
		cache = os.TempDir()
	}
	store := filepath.Join(cache, "gauze", "programs")
	// The go command does not link again what is up to date at its place.
	place := filepath.Join(store, "built", fmt.Sprintf("%x", sha256.Sum256([]byte(root+"\x00"+p.Env)))[:16], p.Name+exe())
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(filepath.Dir(place) + ".lock").Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	args := slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-o", place}, BuildFlags(), p.flags)
	cmd := exec.CommandContext(ctx, "go", append(args, p.pkg)...)
	cmd.Dir = filepath.Join(root, p.dir)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0") // as a release is built
	if p.Raced() {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", p.pkg, err, output)
	}
	return keep(store, place)
}

// Raced reports whether the program is built with the race detector, which needs cgo.
func (p Program) Raced() bool { return slices.Contains(p.flags, "-race") }

// keep puts a copy of the program into the directory that is named by its bytes.
func keep(store, place string) (string, error) {
	sum, err := hashOf(place)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(store, sum[:24])
	path := filepath.Join(dir, filepath.Base(place))
	if _, err := os.Stat(path); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := copyFile(place, path); err != nil {
			return "", err
		}
	}
	now := time.Now()
	return path, os.Chtimes(dir, now, now)
}

// forgotten is the age at which an unused program is removed.
const forgotten = 3 * 24 * time.Hour

// RemoveOld removes the programs that were not used for days.
func RemoveOld() error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	store := filepath.Join(cache, "gauze", "programs")
	entries, err := os.ReadDir(store)
	if err != nil {
		return nil // nothing was built yet
	}
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr == nil && e.Name() != "built" && time.Since(info.ModTime()) > forgotten {
			err = errors.Join(err, os.RemoveAll(filepath.Join(store, e.Name())))
		}
	}
	return err
}

// Everything reports whether this is a run of everything, with the whole samples.
func Everything() bool { return os.Getenv(sample.EnvAll) != "" }

// Root returns the root of the tree that this process was started in.
func Root(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gauze-mcp/gauze").Output()
	root := strings.TrimSpace(string(mod))
	if err != nil || root == "" {
		return "", errors.New("not inside a checkout of gauze")
	}
	return root, nil
}

// uncached keeps the go command from caching the result of the running test, which depends on a
// program that the cache does not know: a test that opened a file of its module is not cached while
// that file is newer than the test.
func uncached(root string) error {
	mark := filepath.Join(root, "lab", ".uncached")
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return nil // a tree that cannot be written: nothing is lost but a warning
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(mark, tomorrow, tomorrow); err != nil {
		return err
	}
	file, err := os.Open(mark)
	if err != nil {
		return err
	}
	return file.Close()
}

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// copyFile copies an executable. It appears under its name when it is complete.
func copyFile(from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*")
	if err != nil {
		return err
	}
	_, err = temp.Write(program)
	if err = errors.Join(err, temp.Chmod(0o755), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), to)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
