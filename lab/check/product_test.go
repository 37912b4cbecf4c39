package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestSharesMemory(t *testing.T) {
	for source, want := range map[string]bool{
		"func f() { go g() }":                                   true,
		"func f() { var w sync.WaitGroup; w.Go(g) }":            true,
		"type x struct { mu sync.Mutex }":                       true,
		"var n atomic.Int64":                                    true,
		"var f = sync.OnceValue(func() int { return 1 })":       false,
		"func f(s http.Server) error { return s.Goodbye(1) }":   false,
		"// go func() is only mentioned\nvar text = \"go f()\"": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x\n\n"+source+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := sharesMemory(dir, []string{"x.go"}); err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
}

// An exception stands for a package that is there, and test helpers are exceptions together.
func TestExceptionsFromTheRaceDetector(t *testing.T) {
	for name := range unraced {
		if info, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(name))); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv(sample.EnvAll, "")
	for pkg, want := range map[string]bool{"internal/wrap/probe": true, "internal/disk/journal": false, "internal/testonly/census": true, "internal/mend/repair": true, "internal/mend/repair/x": false, "internal/wrap/kernel": false} {
		if isUnraced(pkg) != want {
			t.Errorf("%s: want %v", pkg, want)
		}
	}
}

func TestARunOfEverythingRacesMore(t *testing.T) {
	t.Chdir("../..")
	with := func(all string) (raced, plain []string) {
		t.Setenv(sample.EnvAll, all)
		raced, plain, err := split(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return raced, plain
	}
	raced, plain := with("")
	more, whole := with("1")
	for pkg := range racedWithAll {
		pkg = module + pkg
		if slices.Contains(raced, pkg) || !slices.Contains(plain, pkg) || !slices.Contains(more, pkg) {
			t.Errorf("%s: the race detector must watch its tests in a run of everything, and only there", pkg)
		}
	}
	if len(whole) != len(raced)+len(plain) || len(more) != len(raced)+len(racedWithAll) {
		t.Errorf("by default %d with the race detector and %d without it; in a run of everything %d and %d", len(raced), len(plain), len(more), len(whole))
	}
}
